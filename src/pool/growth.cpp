// How memory comes and goes: pages from the device, pages from elsewhere in the pool, and the ladder that is
// climbed when neither suffices. Everything here holds growth_, so that only one thread changes what the pool
// holds.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/units.h"
#include "pool/address_budget.h"
#include "pool/batch.h"
#include "pool/pool_impl.h"

namespace plat::pool {

namespace {
// One in how many parts of the addresses that are left a range has at most, and the first one of small
// blocks, of which there are few bytes. Tags and threads begin with little.
constexpr uint64_t kLargeShare = 64;
constexpr uint64_t kSmallShare = 1024;
constexpr uint64_t kFirstOfTag = 4_GiB;
// On a full device, blocks from half a page on go where they spare the most pages rather than where they fit
// best.
constexpr uint32_t kTightGranules = kPageBytes / 2 >> core::kGranuleShift;
}  // namespace

uint64_t Pool::hard_limit_pages() const {
  const uint64_t room = room_bytes();
  return room != UINT64_MAX ? (held_bytes_ + room) / kPageBytes : UINT64_MAX;
}

uint64_t Pool::soft_limit_pages() const {
  if (options_.slack < 0) return hard_limit_pages();
  const auto soft =
      static_cast<uint64_t>(static_cast<double>(root_->used_peak_.load()) * (1 + options_.slack)) /
          kPageBytes +
      1;
  return std::min(soft, hard_limit_pages());
}

bool Pool::tightly(Zone& zone, uint32_t granules) const {
  return device_full_at_.load(std::memory_order_relaxed) != UINT64_MAX && granules >= kTightGranules &&
         source_->has_pages() && zone.heap().few_records();
}

uint64_t Pool::movable_pages() {
  uint64_t pages = 0;
  for_zones([&](Zone& zone) {
    if (!zone.is_asleep()) pages += zone.heap().movable_pages();  // what sleeps has no pages
  });
  return pages;
}

Got Pool::add_space(Zone& zone, uint32_t granules) {
  const uint64_t need = align_up((uint64_t{granules} << core::kGranuleShift) + kPageBytes, kPageBytes);
  // Holes in the address space are what lets pages move, so there is more of it than the zone has memory; but
  // no more than twice the device, which may be a small one.
  uint64_t has = 0;
  for (const auto& space : zone.spaces()) has += space->bytes;
  const uint64_t first = &zone == large_   ? AddressBudget::part(kLargeShare)
                         : &zone == small_ ? AddressBudget::part(kSmallShare)
                                           : kFirstOfTag;
  uint64_t bytes = std::min(has == 0 ? first : 3 * has, AddressBudget::part(kLargeShare));
  bytes = std::min(bytes, std::max(AddressBudget::kLeastRange, 2 * source_->total_bytes()));
  bytes = std::max(align_up(need, kPageBytes), align_down(bytes, kPageBytes));
  void* base = nullptr;
  Got got = source_->reserve(bytes, &base);
  while (got == Got::kNoMemory && bytes / 2 >= need) {
    bytes = align_up(bytes / 2, kPageBytes);
    got = source_->reserve(bytes, &base);
  }
  if (got != Got::kYes) return got;
  Space* space = nullptr;
  try {
    index_.make_room();
    space = zone.add_space(static_cast<char*>(base), bytes, false);
  } catch (...) {
    source_->unreserve(base);
    throw;
  }
  if (space == nullptr) {
    source_->unreserve(base);
    return Got::kNoMemory;
  }
  index_.add(space);
  address_bytes_ += bytes;
  AddressBudget::take(bytes);
  if (const Space* home = home_; &zone == large_ && (home == nullptr || home->bytes < bytes)) home_ = space;
  if (&zone == small_ && front.bytes.load() == 0) {
    front.table = space->small.get();
    front.base = reinterpret_cast<uint64_t>(space->base);
    front.bytes = space->bytes;
  }
  tell_space(*space);
  return Got::kYes;
}

Got Pool::create_pages(size_t count, uint64_t ceiling, std::vector<void*>& pages) {
  while (pages.size() < count) {
    if (!bank_.empty()) {
      pages.push_back(bank_.back());
      bank_.pop_back();
      continue;
    }
    if (held_bytes_ / kPageBytes >= ceiling) {
      if (ceiling == hard_limit_pages()) device_full_at_ = ceiling;
      return Got::kNoMemory;
    }
    void* page = nullptr;
    if (const Got got = source_->create_page(&page); got != Got::kYes) {
      if (got == Got::kNoMemory) device_full_at_ = held_bytes_ / kPageBytes;
      return got;
    }
    pages.push_back(page);
    held_bytes_ += kPageBytes;
    note_held();
    ++maps_;
    if (held_bytes_ / kPageBytes > device_full_at_) device_full_at_ = UINT64_MAX;  // it has room again
  }
  return Got::kYes;
}

// Takes wholly free pages out of a zone whose lock is held.
bool Pool::move_out(Zone& zone, const core::RangePlan& skip, size_t count, std::vector<void*>& pages) {
  while (pages.size() < count) {
    core::MovableRun run = zone.heap().movable(static_cast<uint32_t>(count - pages.size()), skip);
    if (run.pages.count == 0) return true;
    // What may fail comes before pages are nowhere.
    zone.heap().make_room();
    pages.reserve(pages.size() + run.pages.count);
    uint32_t done = 0;
    for (; done < run.pages.count; ++done) {
      const uint32_t page = run.pages.first + done;
      if (source_->unmap_page(zone.page_address(page)) != Got::kYes) break;
      pages.push_back(zone.page(page));
      zone.page(page) = nullptr;
      ++unmaps_;
    }
    const bool whole = done == run.pages.count;
    run.pages.count = done;
    if (done != 0) zone.heap().unmap(run);
    if (!whole) return false;
  }
  return true;
}

// Gathers `count` pages for a plan: idle ones, new ones, then ones that lie free elsewhere. A device that
// refused is asked again only when moving does not do.
Got Pool::collect_pages(Zone& zone, const core::RangePlan& plan, bool may_move, size_t count,
                        std::vector<void*>& pages) {
  Got got = create_pages(count, std::min(soft_limit_pages(), device_full_at_.load()), pages);
  auto too_many = [&] { return options_.max_remaps != 0 && count - pages.size() > options_.max_remaps; };
  if (got == Got::kNoMemory && too_many()) got = create_pages(count, hard_limit_pages(), pages);
  if (got == Got::kNoMemory && may_move && !too_many()) {
    const size_t before = pages.size();
    bool sound = zone.is_asleep() || move_out(zone, plan, count, pages);
    for_zones([&](Zone& other) {
      if (&other == &zone || other.is_asleep() || pages.size() >= count || !sound) return;
      std::lock_guard guard(other.lock());
      sound = move_out(other, core::RangePlan{}, count, pages);
    });
    const uint64_t moved = pages.size() - before;
    remaps_ += moved;
    most_remaps_ = std::max(most_remaps_.load(), moved);
    if (!sound)
      got = Got::kError;
    else
      got = pages.size() < count ? create_pages(count, hard_limit_pages(), pages) : Got::kYes;
  }
  return got;
}

Got Pool::map_plan(Zone& zone, const core::RangePlan& plan, std::vector<void*>& pages) {
  std::vector<core::PageRun> runs;
  zone.heap().missing(plan, runs);
  for (const core::PageRun& run : runs) {
    zone.heap().make_room();
    for (uint32_t i = 0; i < run.count; ++i) {
      const Got got = source_->map_page(zone.page_address(run.first + i), pages.back());
      if (got != Got::kYes) {
        if (i != 0) zone.heap().map(core::PageRun{run.first, i});
        return got;
      }
      zone.page(run.first + i) = pages.back();
      pages.pop_back();
    }
    zone.heap().map(run);
  }
  return Got::kYes;
}

// One try. growth_ is held, the zone's lock is taken here.
Got Pool::grow_once(Zone& zone, uint32_t granules, uint32_t align, uint16_t domain, uint32_t* block) {
  std::lock_guard guard(zone.lock());
  const bool tight = tightly(zone, granules);
  *block = core::kNoBlock;
  if (!tight) *block = zone.heap().allocate(granules, align, domain);  // somebody may have freed meanwhile
  if (*block != core::kNoBlock) return Got::kYes;
  if (!source_->has_pages()) return grow_chunk(zone, granules, align, domain, block);
  core::RangePlan plan = zone.heap().plan(granules, align, domain, tight);
  if (!plan.found) {
    if (const Got got = add_space(zone, granules + align); got != Got::kYes) return got;
    plan = zone.heap().plan(granules, align, domain, tight);
    if (!plan.found) return Got::kNoMemory;
  }
  const uint64_t held = held_bytes_ / kPageBytes;
  const uint64_t room = std::min(soft_limit_pages(), device_full_at_.load());
  if (!tight && held - bank_.size() + plan.missing_pages > room)
    plan = zone.heap().plan(granules, align, domain, true);
  // Moving pages that cannot suffice would be work for nothing.
  const uint64_t inside = plan.whole_pages - plan.missing_pages;
  const uint64_t movable = movable_pages();
  const uint64_t hard = hard_limit_pages();
  const uint64_t fresh = hard > held ? hard - held : 0;
  if (bank_.size() + fresh < plan.missing_pages &&
      bank_.size() + fresh + movable - std::min(inside, movable) < plan.missing_pages)
    return Got::kNoMemory;
  Pages pages(bank_, plan.missing_pages);
  Got got = collect_pages(zone, plan, true, plan.missing_pages, pages.list);
  if (got == Got::kYes) got = map_plan(zone, plan, pages.list);
  if (got == Got::kYes) *block = zone.heap().take(plan, domain);
  return got;
}

// Tries, and while there is no memory climbs the ladder: each rung frees something, and each is followed by
// one more try. growth_ is held. `stream` may be made to wait for others, if the memory is for its `domain`.
Got Pool::climb(uint16_t domain, plat_stream stream, const std::function<Got()>& attempt) {
  Got got = attempt();
  for (int rung = 0; got == Got::kNoMemory && rung < 5; ++rung) {
    switch (rung) {
      case 0:
        flush_epoch_.fetch_add(1);  // other threads return their blocks when they next pass by
        flush_thread();
        reclaim_spans();
        break;
      case 1:
        if (!settle(Streams::Effort::kPoll, nullptr, domain) & !drain_shared(false)) continue;
        reclaim_spans();
        break;
      case 2:
        if (options_.reuse_waits == 0 || domain == 0 || stream == nullptr ||
            !settle(Streams::Effort::kPoll, stream, domain))
          continue;
        break;
      case 3:
        if (!settle(Streams::Effort::kWait, nullptr, domain) & !drain_shared(true)) continue;
        reclaim_spans();
        break;
      default:
        for_relatives([](Pool& relative) { relative.give_up_idle(0); });
        for_other_pools(*this, [](Pool& other, Pool& asking) {
          if (other.root_ == asking.root_ || !other.shares_device(asking)) return;
          // The other one may be growing and waiting for us: then it has nothing to give.
          std::unique_lock theirs(other.growth_, std::try_to_lock);
          if (theirs) other.give_up_idle(0);
        });
        device_full_at_ = UINT64_MAX;
    }
    got = attempt();
  }
  return got;
}

// What nobody uses goes back until `keep_bytes` are held; false when the device refused. growth_ is held.
bool Pool::give_up_idle(uint64_t keep_bytes) {
  drain_shared(false);
  settle(Streams::Effort::kPoll, nullptr, 0);
  reclaim_spans();
  return trim_locked(keep_bytes);
}

// The ladder, the program's callback, and the ladder again.
Got Pool::gather(uint64_t bytes, uint16_t domain, plat_stream stream, const std::function<Got()>& attempt) {
  source_->error().clear();
  plat_pool_oom_callback callback = nullptr;
  void* user = nullptr;
  {
    std::lock_guard guard(growth_);
    // Memory that another stream has finished with is better than new memory.
    if (streams_.count() > 1 || (streams_.count() == 1 && domain == 0))
      settle(Streams::Effort::kPoll, nullptr, domain);
    const Got got = climb(domain, stream, attempt);
    if (got != Got::kNoMemory) return got;
    callback = root_->oom_callback_;
    user = root_->oom_user_;
  }
  if (callback == nullptr) return Got::kNoMemory;
  {
    const Interlude interlude;  // what the program frees is freed, and told
    if (callback(user, root_, bytes, account().c_str()) == 0) return Got::kNoMemory;
  }
  std::lock_guard guard(growth_);
  device_full_at_ = UINT64_MAX;
  return climb(domain, stream, attempt);
}

// What could not be had, what is held, and what the device said.
plat_pool_status Pool::short_of(Got got, const std::string& what) {
  const std::string& refusal = source_->error();
  return report(got == Got::kNoMemory ? PLAT_POOL_NO_MEMORY : PLAT_POOL_DEVICE,
                fmt::format("pool {}: {} ({}){}{}", name_, what, account(),
                            refusal.empty() ? "" : "; last refusal: ", refusal));
}

plat_pool_status Pool::grow(Zone& zone, uint32_t granules, uint32_t align, const Request& request,
                            uint16_t domain, uint32_t* block) {
  const uint64_t before = held_bytes_;
  const Got got = gather(request.bytes, domain, request.stream,
                         [&] { return grow_once(zone, granules, align, domain, block); });
  if (got != Got::kYes && held_bytes_ > before) {
    // What was taken for nothing goes back: others may need it.
    std::lock_guard guard(growth_);
    drop_bank(before);
  }
  if (got == Got::kYes) return PLAT_POOL_OK;
  ++oom_;
  return short_of(got, fmt::format("no room for {}", format_bytes(request.bytes)));
}

}  // namespace plat::pool
