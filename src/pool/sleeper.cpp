// SPDX-License-Identifier: Apache-2.0
#include "pool/sleeper.h"

#include <acl/acl_rt.h>
#include <fmt/format.h>

#include <mutex>
#include <utility>

#include "pool/resource.h"

namespace plat::pool {

// Maps the pages that went already back where they were. Zones for which the device refuses that sleep with
// the pages that are missing, contents and all, so that wake can try again. Returns how many are missing.
size_t Sleeper::stay_awake(Plans& plans) {
  size_t lost = 0;
  for (auto& [zone, plan] : plans) {
    std::vector<SavedPage> missing;
    for (auto& page : plan) {
      if (page.mapped) continue;
      if (source_.map_page(zone->page_address(page.index), page.handle) == Outcome::kDone) continue;
      missing.push_back({page.index, page.handle, nullptr});
    }
    if (missing.empty()) continue;
    lost += missing.size();
    std::lock_guard guard(zone->lock());
    for (auto& page : missing) zone->page(page.index) = nullptr;
    zone->set_asleep(true);
    saved_[zone] = std::move(missing);
  }
  if (lost != 0) fast_.refresh();
  return lost;
}

plat_pool_status Sleeper::sleep(uint16_t tag, bool save) {
  if (!source_.has_pages())
    return report(PLAT_POOL_UNSUPPORTED,
                  fmt::format("pool {}: only a pool over mapped pages can sleep", name_));
  caches_.flush_mine();
  std::lock_guard growth(family_.growth);
  if (!caches_.wait_for_streams(source_.events()))
    return report(
        PLAT_POOL_DEVICE,
        fmt::format("pool {}: stays awake, a stream on which blocks were freed cannot be waited for", name_));
  recycler_.collect(true);
  recycler_.settle(Streams::Effort::kWait);
  recycler_.reclaim_spans();
  std::vector<Zone*> zones;
  zones_.for_each([&](Zone& zone) {
    if (!zone.is_asleep() && (tag == PLAT_POOL_ALL_TAGS || zone.tag() == tag)) zones.push_back(&zone);
  });
  // Idle pages first: nothing of them needs saving, and they leave only pages that hold something.
  Plans plans;
  for (Zone* zone : zones) {
    std::lock_guard guard(zone->lock());
    backing_.empty(*zone);
    std::vector<SavedPage> saved;
    for (auto& space : zone->spaces())
      for (uint64_t page = 0; page < space->bytes / kPageBytes; ++page)
        if (space->pages[page] != nullptr)
          saved.push_back({static_cast<uint32_t>(space->first_granule / zone->heap().page() + page),
                           space->pages[page], nullptr, true});
    plans[zone] = std::move(saved);
  }
  auto fail = [&](const char* what) {
    return report(PLAT_POOL_DEVICE,
                  fmt::format("pool {}: stays awake, {} failed: {}", name_, what, source_.error()));
  };
  if (save) {
    const ToolHook::Moving moving(reporting_.tool());
    for (Zone* zone : zones) {
      for (auto& page : plans[zone]) {
        page.contents = std::make_unique<char[]>(kPageBytes);
        if (aclrtMemcpy(page.contents.get(), kPageBytes, zone->page_address(page.index), kPageBytes,
                        ACL_MEMCPY_DEVICE_TO_HOST) != ACL_SUCCESS)
          return fail("copying a page to the host");
      }
    }
  }
  size_t count = 0;
  for (Zone* zone : zones) count += plans[zone].size();
  Backing::Travelling travelling(backing_, count);
  // No handle is freed before every page is unmapped, so a refusal half way can be undone.
  for (Zone* zone : zones) {
    for (auto& page : plans[zone]) {
      page.mapped = source_.unmap_page(zone->page_address(page.index)) != Outcome::kDone;
      if (!page.mapped) continue;
      const std::string why = source_.error();
      const size_t lost = stay_awake(plans);
      if (lost == 0)
        return report(PLAT_POOL_DEVICE,
                      fmt::format("pool {}: stays awake, unmapping a page failed: {}", name_, why));
      return report(PLAT_POOL_DEVICE,
                    fmt::format("pool {}: unmapping a page failed ({}), and so did mapping {} back ({}). "
                                "Nothing is lost, but what shares a tag with them sleeps: wake it",
                                name_, why, lost, source_.error()));
    }
  }
  for (Zone* zone : zones) {
    std::lock_guard guard(zone->lock());
    for (auto& page : plans[zone]) {
      travelling.pages.push_back(std::exchange(page.handle, nullptr));
      zone->page(page.index) = nullptr;
    }
    zone->set_asleep(true);
    saved_[zone] = std::move(plans[zone]);
  }
  backing_.note_unmapped(count);
  backing_.keep_pages(travelling.pages);
  fast_.refresh();
  // Asked twice: what the device still refuses is idle memory of the pool, which the next trim gives back.
  const uint64_t keep = tag == PLAT_POOL_ALL_TAGS ? 0 : backing_.held_bytes() - backing_.spare_bytes();
  const bool taken = backing_.trim(keep) || backing_.trim(keep);
  if (taken) return PLAT_POOL_OK;
  return report(PLAT_POOL_DEVICE, fmt::format("pool {}: sleeps, but the device took not everything back: {}",
                                              name_, source_.error()));
}

plat_pool_status Sleeper::wake(uint16_t tag) {
  size_t need = 0;
  auto sleeping = [&] {
    std::vector<Zone*> zones;
    for (auto& [zone, saved] : saved_)
      if (tag == PLAT_POOL_ALL_TAGS || zone->tag() == tag) zones.push_back(zone);
    need = 0;
    for (Zone* zone : zones)
      for (const auto& page : saved_[zone]) need += page.handle == nullptr;
    return zones;
  };
  {
    std::lock_guard growth(family_.growth);
    sleeping();
  }
  if (need != 0 && ladder_.gather_pages(need, nullptr) == Outcome::kNoMemory)
    return ladder_.short_of(Outcome::kNoMemory,
                            fmt::format("stays asleep, there are no {} pages for it", need));
  std::lock_guard growth(family_.growth);
  const std::vector<Zone*> zones = sleeping();
  Backing::Travelling travelling(backing_, need);
  std::vector<void*>& handles = travelling.pages;
  std::vector<std::pair<Zone*, SavedPage*>> fresh;  // given a new page in this try
  auto undo = [&](plat_pool_status status, const char* what) {
    const std::string why = source_.error();
    for (auto& [zone, page] : fresh) {
      // A page that the device does not let go of stays where it is: the next wake finds it there.
      if (page->mapped && source_.unmap_page(zone->page_address(page->index)) != Outcome::kDone) continue;
      page->mapped = false;
      handles.push_back(std::exchange(page->handle, nullptr));
    }
    backing_.keep_pages(handles);
    backing_.trim(backing_.held_bytes() - backing_.spare_bytes());
    return report(status, fmt::format("pool {}: stays asleep, {} failed: {}", name_, what, why));
  };
  const ToolHook::Moving moving(reporting_.tool());
  fresh.reserve(need);
  if (const Outcome got = backing_.take_fresh(need, handles); got != Outcome::kDone)
    return undo(got == Outcome::kNoMemory ? PLAT_POOL_NO_MEMORY : PLAT_POOL_DEVICE, "getting the pages back");
  for (Zone* zone : zones) {
    for (auto& page : saved_[zone]) {
      if (page.handle == nullptr) {
        page.handle = handles.back();
        handles.pop_back();
        fresh.emplace_back(zone, &page);
      }
      if (!page.mapped && source_.map_page(zone->page_address(page.index), page.handle) != Outcome::kDone)
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
    for (auto& page : saved_[zone]) zone->page(page.index) = page.handle;
    zone->set_asleep(false);
    saved_.erase(zone);
  }
  for (const Zone* zone : zones) zones_.note_peak(*zone);
  fast_.refresh();
  return PLAT_POOL_OK;
}

void Sleeper::close() {
  for (auto& [zone, pages] : saved_)
    for (const SavedPage& page : pages)
      if (page.handle != nullptr)
        backing_.close_page(page.mapped ? zone->page_address(page.index) : nullptr, page.handle);
}

}  // namespace plat::pool
