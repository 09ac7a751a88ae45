// Sleep and wake: the pages of a zone go back to the device while every address stays, and come back exactly
// or not at all.
#include <acl/acl_rt.h>
#include <fmt/format.h>

#include <utility>

#include "pool/pool_impl.h"

namespace plat::pool {

// Maps the pages that went already back where they were. Zones for which the device refuses that sleep with
// the pages that are missing, contents and all, so that wake can try again. Returns how many are missing.
size_t Pool::stay_awake(std::unordered_map<Zone*, std::unique_ptr<Saved>>& plans) {
  size_t lost = 0;
  for (auto& [zone, plan] : plans) {
    std::vector<Saved::Page> missing;
    for (auto& page : plan->pages) {
      if (page.mapped) continue;
      if (source_->map_page(zone->page_address(page.index), page.handle) == Got::kYes) continue;
      missing.push_back({page.index, page.handle, nullptr});
    }
    if (missing.empty()) continue;
    lost += missing.size();
    std::lock_guard guard(zone->lock());
    for (auto& page : missing) zone->page(page.index) = nullptr;
    zone->set_asleep(true);
    saved_[zone] = std::make_unique<Saved>(Saved{std::move(missing)});
  }
  if (lost != 0) refresh_front();
  return lost;
}

plat_pool_status Pool::sleep(uint16_t tag, bool save) {
  if (!source_->has_pages())
    return report(PLAT_POOL_UNSUPPORTED,
                  fmt::format("pool {}: only a pool over mapped pages can sleep", name_));
  flush_thread();
  std::lock_guard growth(growth_);
  if (!wait_for_lanes())
    return report(
        PLAT_POOL_DEVICE,
        fmt::format("pool {}: stays awake, a stream on which blocks were freed cannot be waited for", name_));
  drain_shared(true);
  settle(Streams::Effort::kWait, nullptr, 0);
  reclaim_spans();
  std::vector<Zone*> zones;
  for_zones([&](Zone& zone) {
    if (!zone.is_asleep() && (tag == PLAT_POOL_ALL_TAGS || zone.tag() == tag)) zones.push_back(&zone);
  });
  // Idle pages first: nothing of them needs saving, and they leave only pages that hold something.
  std::unordered_map<Zone*, std::unique_ptr<Saved>> plans;
  for (Zone* zone : zones) {
    std::lock_guard guard(zone->lock());
    move_out(*zone, core::RangePlan{}, SIZE_MAX, bank_);
    auto saved = std::make_unique<Saved>();
    for (auto& space : zone->spaces())
      for (uint64_t page = 0; page < space->bytes / kPageBytes; ++page)
        if (space->pages[page] != nullptr)
          saved->pages.push_back({static_cast<uint32_t>(space->first_granule / zone->heap().page() + page),
                                  space->pages[page], nullptr, true});
    plans[zone] = std::move(saved);
  }
  auto fail = [&](const char* what) {
    return report(PLAT_POOL_DEVICE,
                  fmt::format("pool {}: stays awake, {} failed: {}", name_, what, source_->error()));
  };
  if (save) {
    const ToolHook::Moving moving(tool_);
    for (Zone* zone : zones) {
      for (auto& page : plans[zone]->pages) {
        page.contents = std::make_unique<char[]>(kPageBytes);
        if (aclrtMemcpy(page.contents.get(), kPageBytes, zone->page_address(page.index), kPageBytes,
                        ACL_MEMCPY_DEVICE_TO_HOST) != ACL_SUCCESS)
          return fail("copying a page to the host");
      }
    }
  }
  size_t count = 0;
  for (Zone* zone : zones) count += plans[zone]->pages.size();
  bank_.reserve(bank_.size() + count);
  // No handle is freed before every page is unmapped, so a refusal half way can be undone.
  for (Zone* zone : zones) {
    for (auto& page : plans[zone]->pages) {
      page.mapped = source_->unmap_page(zone->page_address(page.index)) != Got::kYes;
      if (!page.mapped) continue;
      const std::string why = source_->error();
      const size_t lost = stay_awake(plans);
      if (lost == 0)
        return report(PLAT_POOL_DEVICE,
                      fmt::format("pool {}: stays awake, unmapping a page failed: {}", name_, why));
      return report(PLAT_POOL_DEVICE,
                    fmt::format("pool {}: unmapping a page failed ({}), and so did mapping {} back ({}). "
                                "Nothing is lost, but what shares a tag with them sleeps: wake it",
                                name_, why, lost, source_->error()));
    }
  }
  for (Zone* zone : zones) {
    std::lock_guard guard(zone->lock());
    for (auto& page : plans[zone]->pages) {
      bank_.push_back(std::exchange(page.handle, nullptr));
      zone->page(page.index) = nullptr;
      ++unmaps_;
    }
    zone->set_asleep(true);
    saved_[zone] = std::move(plans[zone]);
  }
  refresh_front();
  // Asked twice: what the device still refuses is idle memory of the pool, which the next trim gives back.
  const uint64_t keep = tag == PLAT_POOL_ALL_TAGS ? 0 : held_bytes_ - bank_.size() * kPageBytes;
  const bool taken = trim_locked(keep) || trim_locked(keep);
  if (tag == PLAT_POOL_ALL_TAGS)
    for_companions([](Pool& companion) {
      companion.drain_shared(true);
      companion.settle(Streams::Effort::kWait, nullptr, 0);
      companion.reclaim_spans();
      companion.trim_locked(0);
    });
  if (taken) return PLAT_POOL_OK;
  return report(PLAT_POOL_DEVICE, fmt::format("pool {}: sleeps, but the device took not everything back: {}",
                                              name_, source_->error()));
}

// Pages from wherever there are some, the ladder and the callback included; into `out`, or the bank.
Got Pool::gather_pages(size_t count, std::vector<void*>* out) {
  const uint64_t before = held_bytes_;
  const Got got = gather(count * kPageBytes, 0, nullptr, [&] {
    Pages pages(bank_, count);
    std::lock_guard guard(large_->lock());
    const Got result = collect_pages(*large_, core::RangePlan{}, true, count, pages.list);
    if (result == Got::kYes && out != nullptr) out->swap(pages.list);
    return result;
  });
  if (got != Got::kYes) {
    std::lock_guard growth(growth_);
    drop_bank(before);
  }
  return got;
}

plat_pool_status Pool::wake(uint16_t tag) {
  size_t need = 0;
  auto sleeping = [&] {
    std::vector<Zone*> zones;
    for (auto& [zone, saved] : saved_)
      if (tag == PLAT_POOL_ALL_TAGS || zone->tag() == tag) zones.push_back(zone);
    need = 0;
    for (Zone* zone : zones)
      for (const auto& page : saved_[zone]->pages) need += page.handle == nullptr;
    return zones;
  };
  {
    std::lock_guard growth(growth_);
    sleeping();
  }
  if (need != 0 && gather_pages(need, nullptr) == Got::kNoMemory)
    return short_of(Got::kNoMemory, fmt::format("stays asleep, there are no {} pages for it", need));
  std::lock_guard growth(growth_);
  const std::vector<Zone*> zones = sleeping();
  Pages pages(bank_, need);
  std::vector<void*>& handles = pages.list;
  std::vector<std::pair<Zone*, Saved::Page*>> fresh;  // given a new page in this try
  auto undo = [&](plat_pool_status status, const char* what) {
    const std::string why = source_->error();
    for (auto& [zone, page] : fresh) {
      // A page that the device does not let go of stays where it is: the next wake finds it there.
      if (page->mapped && source_->unmap_page(zone->page_address(page->index)) != Got::kYes) continue;
      page->mapped = false;
      handles.push_back(std::exchange(page->handle, nullptr));
    }
    bank_.insert(bank_.end(), handles.begin(), handles.end());
    handles.clear();
    trim_locked(held_bytes_ - bank_.size() * kPageBytes);
    return report(status, fmt::format("pool {}: stays asleep, {} failed: {}", name_, what, why));
  };
  const ToolHook::Moving moving(tool_);
  fresh.reserve(need);
  if (const Got got = create_pages(need, hard_limit_pages(), handles); got != Got::kYes)
    return undo(got == Got::kNoMemory ? PLAT_POOL_NO_MEMORY : PLAT_POOL_DEVICE, "getting the pages back");
  for (Zone* zone : zones) {
    for (auto& page : saved_[zone]->pages) {
      if (page.handle == nullptr) {
        page.handle = handles.back();
        handles.pop_back();
        fresh.emplace_back(zone, &page);
      }
      if (!page.mapped && source_->map_page(zone->page_address(page.index), page.handle) != Got::kYes)
        return undo(PLAT_POOL_DEVICE, "mapping a page");
      page.mapped = true;
      if (page.contents != nullptr &&
          aclrtMemcpy(zone->page_address(page.index), kPageBytes, page.contents.get(), kPageBytes,
                      ACL_MEMCPY_HOST_TO_DEVICE) != ACL_SUCCESS)
        return undo(PLAT_POOL_DEVICE, "copying a page back");
    }
  }
  for (Zone* zone : zones) {
    std::lock_guard guard(zone->lock());
    for (auto& page : saved_[zone]->pages) zone->page(page.index) = page.handle;
    zone->set_asleep(false);
    saved_.erase(zone);
  }
  refresh_front();
  return PLAT_POOL_OK;
}

plat_pool_status Pool::take_pages(size_t count, std::vector<void*>& pages) {
  if (!source_->has_pages())
    return report(PLAT_POOL_UNSUPPORTED,
                  fmt::format("pool {}: only a pool over mapped pages can do this", name_));
  pages.reserve(pages.size() + count);
  std::vector<void*> got;
  const Got result = gather_pages(count, &got);
  if (result != Got::kYes) return short_of(result, fmt::format("no {} pages to be had", count));
  pages.insert(pages.end(), got.begin(), got.end());
  return PLAT_POOL_OK;
}

void Pool::give_pages(std::vector<void*>& pages) {
  std::lock_guard growth(growth_);
  bank_.insert(bank_.end(), pages.begin(), pages.end());
  pages.clear();
  obey_release();
}

}  // namespace plat::pool
