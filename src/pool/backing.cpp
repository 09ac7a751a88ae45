// SPDX-License-Identifier: Apache-2.0
#include "pool/backing.h"

#include <algorithm>

#include "base/units.h"
#include "pool/address_budget.h"
#include "pool/pool.h"

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

template <class Call>
bool twice(Call&& call) {
  return call() || call();
}
}  // namespace

// How much more may be taken from the device, as far as the limit goes.
uint64_t Backing::room_bytes() const {
  const uint64_t limit = family_.limit_of(source_.on_device());
  if (limit == 0) return UINT64_MAX;
  uint64_t held = 0;
  family_.for_each([&](Pool& member) {
    if (member.source().on_device() == source_.on_device()) held += member.backing().held_bytes();
  });
  return limit > held ? limit - held : 0;
}

void Backing::note_held() {
  uint64_t held = 0;
  family_.for_each([&](Pool& member) { held += member.backing().held_bytes(); });
  family_.held_peak = std::max(family_.held_peak.load(), held);
}

// Whether what one gives back is room for the other.
bool Backing::shares_device(const Backing& other) const {
  return source_.on_device() == other.source_.on_device() &&
         (!source_.on_device() || source_.device() == other.source_.device());
}

// Holes in the address space are what lets pages move, so there is more of it than the zone has memory; but
// no more than twice the device, which may be a small one.
uint64_t Backing::range_bytes(const Zone& zone, uint64_t need) const {
  uint64_t has = 0;
  for (const auto& space : zone.spaces()) has += space->bytes;
  const uint64_t first = &zone == &zones_.large()   ? AddressBudget::part(kLargeShare)
                         : &zone == &zones_.small() ? AddressBudget::part(kSmallShare)
                                                    : kFirstOfTag;
  uint64_t bytes = std::min(has == 0 ? first : 3 * has, AddressBudget::part(kLargeShare));
  bytes = std::min(bytes, std::max(AddressBudget::kLeastRange, 2 * source_.total_bytes()));
  return std::max(align_up(need, kPageBytes), align_down(bytes, kPageBytes));
}

uint64_t Backing::hard_limit_pages() const {
  const uint64_t room = room_bytes();
  return room != UINT64_MAX ? (held_bytes_ + room) / kPageBytes : UINT64_MAX;
}

uint64_t Backing::soft_limit_pages() const {
  if (options_.slack < 0) return hard_limit_pages();
  const auto soft =
      static_cast<uint64_t>(static_cast<double>(zones_.peak()) * (1 + options_.slack)) / kPageBytes + 1;
  return std::min(soft, hard_limit_pages());
}

bool Backing::is_tight(const Zone& zone, uint32_t granules) const {
  return is_full() && granules >= kTightGranules && source_.has_pages() && zone.heap().few_records();
}

Outcome Backing::add_range(Zone& zone, uint32_t granules) {
  const uint64_t need = align_up((uint64_t{granules} << core::kGranuleShift) + kPageBytes, kPageBytes);
  uint64_t bytes = range_bytes(zone, need);
  void* base = nullptr;
  Outcome got = source_.reserve(bytes, &base);
  while (got == Outcome::kNoMemory && bytes / 2 >= need) {
    bytes = align_up(bytes / 2, kPageBytes);
    got = source_.reserve(bytes, &base);
  }
  if (got != Outcome::kDone) return got;
  Space* space = nullptr;
  try {
    index_.make_room();
    space = zone.add_space(static_cast<char*>(base), bytes, false);
  } catch (...) {
    source_.unreserve(base);
    throw;
  }
  if (space == nullptr) {
    source_.unreserve(base);
    return Outcome::kNoMemory;
  }
  index_.add(space);
  address_bytes_ += bytes;
  AddressBudget::take(bytes);
  watcher_.space_added(*space);
  return Outcome::kDone;
}

Outcome Backing::create_pages(size_t count, uint64_t ceiling, std::vector<void*>& pages) {
  while (pages.size() < count) {
    if (!spare_pages_.empty()) {
      pages.push_back(spare_pages_.back());
      spare_pages_.pop_back();
      continue;
    }
    if (held_bytes_ / kPageBytes >= ceiling) {
      if (ceiling == hard_limit_pages()) full_at_ = ceiling;
      return Outcome::kNoMemory;
    }
    void* page = nullptr;
    if (const Outcome got = source_.create_page(&page); got != Outcome::kDone) {
      if (got == Outcome::kNoMemory) full_at_ = held_bytes_ / kPageBytes;
      return got;
    }
    pages.push_back(page);
    held_bytes_ += kPageBytes;
    note_held();
    ++maps_;
    if (held_bytes_ / kPageBytes > full_at_) full_at_ = UINT64_MAX;  // it has room again
  }
  return Outcome::kDone;
}

// Takes wholly free pages out of a zone whose lock is held.
bool Backing::move_out(Zone& zone, const core::RangePlan& skip, size_t count, std::vector<void*>& pages) {
  while (pages.size() < count) {
    core::MovableRun run = zone.heap().movable(static_cast<uint32_t>(count - pages.size()), skip);
    if (run.pages.count == 0) return true;
    // What may fail comes before pages are nowhere.
    zone.heap().make_room();
    pages.reserve(pages.size() + run.pages.count);
    uint32_t done = 0;
    for (; done < run.pages.count; ++done) {
      const uint32_t page = run.pages.first + done;
      if (source_.unmap_page(zone.page_address(page)) != Outcome::kDone) break;
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

// `count` pages for a plan: idle ones, new ones, then ones that lie free elsewhere. A device that
// refused is asked again only when moving does not do.
Outcome Backing::collect_pages(Zone& zone, const core::RangePlan& plan, size_t count,
                               std::vector<void*>& pages) {
  Outcome got = create_pages(count, std::min(soft_limit_pages(), full_at_.load()), pages);
  auto too_many = [&] { return options_.max_remaps != 0 && count - pages.size() > options_.max_remaps; };
  if (got == Outcome::kNoMemory && too_many()) got = create_pages(count, hard_limit_pages(), pages);
  if (got == Outcome::kNoMemory && !too_many()) {
    const size_t before = pages.size();
    bool sound = zone.is_asleep() || move_out(zone, plan, count, pages);
    zones_.for_each([&](Zone& other) {
      if (&other == &zone || other.is_asleep() || pages.size() >= count || !sound) return;
      std::lock_guard guard(other.lock());
      sound = move_out(other, core::RangePlan{}, count, pages);
    });
    const uint64_t moved = pages.size() - before;
    remaps_ += moved;
    most_remaps_ = std::max(most_remaps_.load(), moved);
    if (!sound)
      got = Outcome::kFailed;
    else
      got = pages.size() < count ? create_pages(count, hard_limit_pages(), pages) : Outcome::kDone;
  }
  return got;
}

Outcome Backing::map_plan(Zone& zone, const core::RangePlan& plan, std::vector<void*>& pages) {
  std::vector<core::PageRun> runs;
  zone.heap().missing(plan, runs);
  for (const core::PageRun& run : runs) {
    zone.heap().make_room();
    for (uint32_t i = 0; i < run.count; ++i) {
      const Outcome got = source_.map_page(zone.page_address(run.first + i), pages.back());
      if (got != Outcome::kDone) {
        if (i != 0) zone.heap().map(core::PageRun{run.first, i});
        return got;
      }
      zone.page(run.first + i) = pages.back();
      pages.pop_back();
    }
    zone.heap().map(run);
  }
  return Outcome::kDone;
}

Outcome Backing::place(Zone& zone, uint32_t granules, uint32_t align, uint16_t domain, core::RangeId* block) {
  std::lock_guard guard(zone.lock());
  const bool tight = is_tight(zone, granules);
  *block = core::kNoBlock;
  if (!tight) *block = zone.heap().allocate(granules, align, domain);  // somebody may have freed meanwhile
  if (*block != core::kNoBlock) return Outcome::kDone;
  if (!source_.has_pages()) return place_in_chunk(zone, granules, align, domain, block);
  core::RangePlan plan = zone.heap().plan(granules, align, domain, tight);
  if (!plan.found) {
    if (const Outcome got = add_range(zone, granules + align); got != Outcome::kDone) return got;
    plan = zone.heap().plan(granules, align, domain, tight);
    if (!plan.found) return Outcome::kNoMemory;
  }
  const uint64_t held = held_bytes_ / kPageBytes;
  const uint64_t room = std::min(soft_limit_pages(), full_at_.load());
  if (!tight && held - spare_pages_.size() + plan.missing_pages > room)
    plan = zone.heap().plan(granules, align, domain, true);
  // Moving pages that cannot suffice would be work for nothing.
  const uint64_t inside = plan.whole_pages - plan.missing_pages;
  const uint64_t movable = zones_.movable_pages(&zone);
  const uint64_t hard = hard_limit_pages();
  const uint64_t fresh = hard > held ? hard - held : 0;
  if (spare_pages_.size() + fresh < plan.missing_pages &&
      spare_pages_.size() + fresh + movable - std::min(inside, movable) < plan.missing_pages)
    return Outcome::kNoMemory;
  Travelling travelling(*this, plan.missing_pages);
  Outcome got = collect_pages(zone, plan, plan.missing_pages, travelling.pages);
  if (got == Outcome::kDone) got = map_plan(zone, plan, travelling.pages);
  if (got == Outcome::kDone) *block = zone.heap().take(plan, domain);
  return got;
}

// Gives pages of the bank back until `keep_bytes` are held. False when the device refused one.
bool Backing::trim_spare(uint64_t keep_bytes) {
  while (!spare_pages_.empty() && held_bytes_ > keep_bytes) {
    if (!source_.destroy_page(spare_pages_.back())) return false;
    spare_pages_.pop_back();
    held_bytes_ -= kPageBytes;
  }
  return true;
}

// False when the device refused to take something back; it stays, is counted, and is tried again next time.
bool Backing::trim(uint64_t keep_bytes) {
  bool taken = true;
  if (!source_.has_pages()) {
    zones_.for_each([&](Zone& zone) { taken = trim_chunks(zone, keep_bytes) && taken; });
    return taken;
  }
  taken = trim_spare(keep_bytes);
  zones_.for_each([&](Zone& zone) {
    if (!taken || held_bytes_ <= keep_bytes || zone.is_asleep()) return;
    std::lock_guard guard(zone.lock());
    taken = move_out(zone, core::RangePlan{}, (held_bytes_ - keep_bytes + kPageBytes - 1) / kPageBytes,
                     spare_pages_);
    taken = trim_spare(keep_bytes) && taken;
  });
  full_at_ = UINT64_MAX;
  return taken;
}

Outcome Backing::take_pages(size_t count, std::vector<void*>& pages) {
  Travelling travelling(*this, count);
  Zone& zone = zones_.large();
  std::lock_guard guard(zone.lock());
  const Outcome outcome = collect_pages(zone, core::RangePlan{}, count, travelling.pages);
  if (outcome == Outcome::kDone) pages.swap(travelling.pages);
  return outcome;
}

void Backing::keep_pages(std::vector<void*>& pages) {
  spare_pages_.insert(spare_pages_.end(), pages.begin(), pages.end());
  pages.clear();
}

void Backing::close_page(void* address, void* page) {
  if (address != nullptr && !twice([&] { return source_.unmap_page(address) == Outcome::kDone; })) return;
  if (page == nullptr || twice([&] { return source_.destroy_page(page); })) held_bytes_ -= kPageBytes;
}

void Backing::close_space(Space& space) {
  watcher_.space_removed(space);
  if (!source_.has_pages()) {
    if (twice([&] { return source_.destroy_block(space.chunk_base); })) held_bytes_ -= space.chunk_bytes;
    return;
  }
  for (uint64_t page = 0; page < space.bytes / kPageBytes; ++page)
    if (space.pages[page] != nullptr) close_page(space.base + page * kPageBytes, space.pages[page]);
  if (twice([&] { return source_.unreserve(space.base); })) AddressBudget::give(space.bytes);
}

bool Backing::close() {
  zones_.for_each([&](Zone& zone) {
    for (auto& space : zone.spaces())
      if (!space->gone) close_space(*space);
  });
  for (void* page : spare_pages_) close_page(nullptr, page);
  for (const auto& [base, bytes] : refused_chunks_)
    if (twice([&, start = base] { return source_.destroy_block(start); })) held_bytes_ -= bytes;
  return held_bytes_ == 0;
}

void Backing::add_stats(plat_pool_stats& stats) const {
  stats.reserved_bytes += held_bytes_;
  if (!source_.on_device()) stats.host_bytes += held_bytes_;
  stats.maps += maps_;
  stats.unmaps += unmaps_;
  stats.remaps += remaps_;
  stats.most_remaps = std::max(stats.most_remaps, most_remaps_.load());
  stats.address_bytes += address_bytes_;
}

}  // namespace plat::pool
