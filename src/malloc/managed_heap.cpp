// SPDX-License-Identifier: Apache-2.0
#include "malloc/managed_heap.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "device/report.h"
#include "rules/rules.h"

namespace plat::malloc {

namespace {

using Location = ManagedHeap::Location;

constexpr int32_t kOnHost = -1;
constexpr int32_t kNowhere = -2;  // or in several places

bool has_id(const Location& location) {
  return location.type == ACL_MEM_LOCATIONTYPE_DEVICE || location.type == ACL_MEM_LOCATIONTYPE_HOST_NUMA;
}

bool is_same(const Location& one, const Location& other) {
  return one.type == other.type && (!has_id(one) || one.id == other.id);
}

// A place as one number.
int32_t number_of(const Location& location) {
  switch (location.type) {
    case ACL_MEM_LOCATIONTYPE_DEVICE:
    case ACL_MEM_LOCATIONTYPE_HOST_NUMA:
      return location.id;
    case ACL_MEM_LOCATIONTYPE_HOST:
    case ACL_MEM_LOCATIONTYPE_HOST_NUMA_CURRENT:
      return kOnHost;
    default:
      return kNowhere;
  }
}

constexpr Location kNoLocation{ACL_MEM_LOCATIONTYPE_INVALID, 0};

}  // namespace

ManagedHeap::ManagedHeap(vmm::Vmm& vmm) : vmm_(vmm) {
  window_.add(kManagedStart, kManagedStart + kManagedBytes);
}

Result<Va> ManagedHeap::allocate(uint64_t size_bytes) {
  if (size_bytes > kManagedBytes)
    return fail(RuleId::ManagedRoom, "size", "asked for {}, a process has {} of managed addresses",
                format_bytes(size_bytes), format_bytes(kManagedBytes));
  const uint64_t size = align_up(size_bytes, kManagedPageBytes);
  const std::lock_guard lock(mutex_);
  notes_.prepare();
  const auto place = window_.allocate(size, kManagedPageBytes);
  if (!place)
    return fail(RuleId::ManagedRoom, "size",
                "asked for {}, the largest free range of managed addresses has {}", format_bytes(size),
                format_bytes(window_.largest_free()));
  vmm::Vmm::RegionRequest request;
  request.size_bytes = size;
  request.alignment = kManagedPageBytes;
  request.bank = device::kHostBank;
  request.info.purpose = device::Purpose::Host;
  request.info.asked_bytes = size_bytes;
  request.kind = vmm::MappingKind::Managed;
  request.expected = Va{*place};
  auto region = vmm_.create_region(request);
  if (!region && region.error().rule == RuleId::ReserveTaken) {
    // A sanitizer, or something else of the process, has these addresses; any others will do.
    request.expected = Va{0};
    region = vmm_.create_region(request);
  }
  const bool in_place = region && region->start.value == *place;
  if (!in_place) window_.release(*place, size);
  if (!region) return forward(region.error());
  Block& block = blocks_[region->start.value];
  block = Block{size, in_place, std::vector<Page>(size / kManagedPageBytes), {}};
  block.note = note_of(region->start.value, block);
  tell();
  return region->start;
}

std::optional<Result<>> ManagedHeap::free(Va start) {
  const std::lock_guard lock(mutex_);
  const auto block = blocks_.find(start.value);
  if (block == blocks_.end()) return std::nullopt;
  if (auto gone = vmm_.destroy_region(start); !gone) {
    gone.error().rule = RuleId::FreeBusy;
    return gone;
  }
  if (block->second.from_window) window_.release(start.value, block->second.size_bytes);
  blocks_.erase(block);
  tell();
  return Result<>{};
}

void ManagedHeap::free_all() {
  std::vector<Va> starts;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [start, block] : blocks_) starts.push_back(Va{start});
  }
  for (const Va start : starts) (void)free(start);
}

ManagedHeap::Blocks::const_iterator ManagedHeap::block_around(Va va) const {
  const auto after = blocks_.upper_bound(va.value);
  if (after == blocks_.begin()) return blocks_.end();
  const auto block = std::prev(after);
  return va.value - block->first < block->second.size_bytes ? block : blocks_.end();
}

device::ManagedNote ManagedHeap::note_of(uint64_t start, const Block& block) {
  device::ManagedNote note{start, block.size_bytes, 0, {}, {}, 0, 0};
  const auto combine = [](device::NotedPlace& all, const Location& location, bool is_first) {
    const device::NotedPlace place{static_cast<int32_t>(location.type), has_id(location) ? location.id : 0};
    if (is_first)
      all = place;
    else if (all != place)
      all = {device::NotedPlace::kMixed, 0};
  };
  for (const Page& page : block.pages) {
    const bool is_first = &page == &block.pages.front();
    if (page.read_mostly) note.read_mostly_bytes += kManagedPageBytes;
    combine(note.preferred, page.preferred, is_first);
    combine(note.prefetched, page.prefetched, is_first);
    for (const Location& user : page.accessed_by) {
      if (user.type == ACL_MEM_LOCATIONTYPE_DEVICE)
        note.used_by_devices |= uint64_t{1} << (user.id % 64);
      else
        note.used_by_host = 1;
    }
  }
  return note;
}

// mutex_ is held.
void ManagedHeap::tell() {
  std::array<device::ManagedNote, device::ManagedNotes::kBlocksMax> all;
  size_t count = 0;
  for (const auto& [start, block] : blocks_) {
    if (count == all.size()) break;
    all[count++] = block.note;
  }
  notes_.tell(std::span(all).first(count));
}

void ManagedHeap::note_change(Va start) {
  const auto found = block_around(start);
  Block& block = blocks_.at(found->first);
  const device::ManagedNote note = note_of(found->first, block);
  if (std::exchange(block.note, note) != note) tell();
}

bool ManagedHeap::contains(Va va) const {
  const std::lock_guard lock(mutex_);
  return block_around(va) != blocks_.end();
}

// The pages that the range touches. mutex_ is held.
Result<std::span<ManagedHeap::Page>> ManagedHeap::pages_of(Va start, uint64_t size_bytes) {
  const auto found = block_around(start);
  if (found == blocks_.end())
    return fail(RuleId::ManagedRange, "ptr", "{:#x} is in no managed memory", start.value);
  Block& block = blocks_.at(found->first);
  const uint64_t offset = start.value - found->first;
  if (size_bytes > block.size_bytes - offset)
    return fail(RuleId::ManagedRange, "size", "{} bytes at offset {} of managed memory of {} bytes at {:#x}",
                size_bytes, offset, block.size_bytes, found->first);
  const uint64_t first = offset / kManagedPageBytes;
  const uint64_t end = (offset + size_bytes + kManagedPageBytes - 1) / kManagedPageBytes;
  return std::span(block.pages).subspan(first, end - first);
}

Result<> ManagedHeap::advise(Va start, uint64_t size_bytes, aclrtMemManagedAdviseType advice,
                             Location location) {
  if (!is_aligned(start.value, kManagedPageBytes) || !is_aligned(size_bytes, kManagedPageBytes))
    return fail(RuleId::ManagedRange, is_aligned(start.value, kManagedPageBytes) ? "size" : "ptr",
                "{} bytes at {:#x} are no whole pages of 2 MiB", size_bytes, start.value);
  const bool names_place =
      advice == ACL_MEM_ADVISE_SET_PREFERRED_LOCATION || advice == ACL_MEM_ADVISE_SET_ACCESSED_BY;
  if (names_place && location.type == ACL_MEM_LOCATIONTYPE_INVALID)
    return fail(RuleId::ManagedLocation, "location", "location.type is ACL_MEM_LOCATIONTYPE_INVALID");
  const std::lock_guard lock(mutex_);
  PLAT_ASSIGN(pages, pages_of(start, size_bytes));
  for (Page& page : pages) {
    const auto accessor = std::find_if(page.accessed_by.begin(), page.accessed_by.end(),
                                       [&](const Location& known) { return is_same(known, location); });
    switch (advice) {
      case ACL_MEM_ADVISE_SET_READ_MOSTLY:
      case ACL_MEM_ADVISE_UNSET_READ_MOSTLY:
        page.read_mostly = advice == ACL_MEM_ADVISE_SET_READ_MOSTLY;
        break;
      case ACL_MEM_ADVISE_SET_PREFERRED_LOCATION:
        page.preferred = location;
        break;
      case ACL_MEM_ADVISE_UNSET_PREFERRED_LOCATION:
        page.preferred = kNoLocation;
        break;
      case ACL_MEM_ADVISE_SET_ACCESSED_BY:
        if (accessor == page.accessed_by.end()) page.accessed_by.push_back(location);
        break;
      case ACL_MEM_ADVISE_UNSET_ACCESSED_BY:
        if (accessor != page.accessed_by.end()) page.accessed_by.erase(accessor);
        break;
    }
  }
  note_change(start);
  return {};
}

Result<> ManagedHeap::prefetch(Va start, uint64_t size_bytes, Location location) {
  if (location.type == ACL_MEM_LOCATIONTYPE_INVALID)
    return fail(RuleId::ManagedLocation, "location", "location.type is ACL_MEM_LOCATIONTYPE_INVALID");
  const std::lock_guard lock(mutex_);
  PLAT_ASSIGN(pages, pages_of(start, size_bytes));
  for (Page& page : pages) page.prefetched = location;
  note_change(start);
  return {};
}

Result<> ManagedHeap::attribute(aclrtMemManagedRangeAttribute attribute, Va start, uint64_t size_bytes,
                                std::span<int32_t> data) {
  const std::lock_guard lock(mutex_);
  PLAT_ASSIGN(pages, pages_of(start, size_bytes));
  // What all pages have in common, or nothing.
  const auto common = [&](Location Page::*which) {
    const Location first = pages.front().*which;
    const bool all = std::all_of(pages.begin(), pages.end(),
                                 [&](const Page& page) { return is_same(page.*which, first); });
    return all ? first : kNoLocation;
  };
  const Location preferred = common(&Page::preferred);
  const Location prefetched = common(&Page::prefetched);
  switch (attribute) {
    case ACL_MEM_RANGE_ATTRIBUTE_READ_MOSTLY:
      data[0] = std::all_of(pages.begin(), pages.end(), [](const Page& page) { return page.read_mostly; });
      break;
    case ACL_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION:
      data[0] = number_of(preferred);
      break;
    case ACL_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE:
      data[0] = preferred.type;
      break;
    case ACL_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID:
      data[0] = preferred.id;
      break;
    case ACL_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION:
      data[0] = number_of(prefetched);
      break;
    case ACL_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE:
      data[0] = prefetched.type;
      break;
    case ACL_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID:
      data[0] = prefetched.id;
      break;
    case ACL_MEM_RANGE_ATTRIBUTE_ACCESSED_BY: {
      std::fill(data.begin(), data.end(), kNowhere);
      size_t filled = 0;
      for (const Location& known : pages.front().accessed_by) {
        const bool all = std::all_of(pages.begin(), pages.end(), [&](const Page& page) {
          return std::any_of(page.accessed_by.begin(), page.accessed_by.end(),
                             [&](const Location& other) { return is_same(other, known); });
        });
        if (all && filled < data.size()) data[filled++] = number_of(known);
      }
      break;
    }
  }
  return {};
}

}  // namespace plat::malloc
