// SPDX-License-Identifier: Apache-2.0
#include "vmm/translate.h"

#include "base/text.h"
#include "rules/rules.h"

namespace plat::vmm {

namespace {

// In this file fields of a mapping are loaded relaxed while it is pinned: who made it stored them before it
// stored the page's entry with release, which was acquired here, and nobody changes them before the last pin
// is gone.

// Counts one more user, unless the mapping is being taken down.
bool pin(const Mapping& mapping) {
  int32_t users = mapping.users.load(std::memory_order_relaxed);  // a guess, which the exchange proves
  while (users >= 0)
    if (mapping.users.compare_exchange_weak(users, users + 1, std::memory_order_acquire)) return true;
  return false;
}

void unpin_one(const Mapping& mapping) { mapping.users.fetch_sub(1, std::memory_order_release); }

Error hole(const AddressSpace& space, Va start, uint64_t size_bytes, Va at, const char* parameter) {
  return Error{RuleId::CopyHole, parameter,
               fmt::format("[{:#x}, {:#x}), {} bytes: {:#x}, at offset {}, is {}", start.value,
                           start.value + size_bytes, size_bytes, at.value, at - start, describe(space, at))};
}

// Whether the range is inside what was allocated as one, which is counted in `users` then. The mapping is
// pinned.
Result<> check_allocation(const Mapping& mapping, Va start, Va at, Va end, const char* parameter,
                          BlockUsers*& users) {
  const uint64_t mapping_start = mapping.start.load(std::memory_order_relaxed);
  const uint64_t mapping_size = mapping.size_bytes.load(std::memory_order_relaxed);
  if (at != start)  // the range began in a mapping of the client's and runs into memory of another kind
    return fail(RuleId::CopyPastEnd, parameter,
                "[{:#x}, {:#x}) runs at offset {} out of its mappings and into an allocation", start.value,
                end.value, at - start);
  SubBlocks::Block block{Va{mapping_start}, mapping_size};
  const SubBlocks* const blocks = mapping.sub_blocks.load(std::memory_order_relaxed);
  if (blocks != nullptr) {
    const auto found = blocks->block_at(at);
    if (!found || !pin(*found))
      return fail(RuleId::CopyFreed, parameter,
                  "[{:#x}, {:#x}): no live block is at {:#x}, in the device memory of {} at {:#x}",
                  start.value, end.value, at.value, format_bytes(mapping_size), mapping_start);
    block = *found;
    users = found->users;
  }
  const uint64_t offset = at - block.start;
  const uint64_t size_bytes = end - at;
  if (size_bytes <= block.size_bytes - offset) [[likely]]
    return {};
  const uint64_t asked_bytes = blocks != nullptr ? blocks->asked_bytes(block) : block.size_bytes;
  return fail(RuleId::CopyPastEnd, parameter,
              "{} bytes at offset {} of the block of {} bytes at {:#x} pass its end by {} bytes", size_bytes,
              offset, asked_bytes, block.start.value, offset + size_bytes - asked_bytes);
}

}  // namespace

std::string describe(const AddressSpace& space, Va va) {
  const ReservationId id = space.reservation_at(va);
  const Reservation* range = id == ReservationId::none() ? nullptr : space.reservation(id);
  if (range == nullptr) return "no device memory";
  const uint64_t range_start = range->start.load(std::memory_order_acquire);
  const uint64_t range_size = range->size_bytes.load(std::memory_order_acquire);
  const PageEntry entry = space.entry(va);
  const char* what = "reserved, but nothing is mapped there";
  if (entry.has_mapping()) {
    const bool closing =
        space.live_mapping(entry.mapping()).users.load(std::memory_order_relaxed) < 0;  // for a message
    what = closing                            ? "being unmapped"
           : entry.tag() == PageEntry::Remote ? "memory of another server"
           : space.live_mapping(entry.mapping()).kind.load(std::memory_order_relaxed) == MappingKind::Client
               ? "memory of this server"
               : "in no block that is allocated now";
  }
  return fmt::format("{} (offset {} of the reservation of {} at {:#x})", what, va.value - range_start,
                     format_bytes(range_size), range_start);
}

Result<PinnedRange> PinnedRange::take(const AddressSpace& space, Va start, uint64_t size_bytes,
                                      uint32_t device, const char* parameter, PageEntry::Tag where) {
  if (size_bytes > UINT64_MAX - start.value)
    return fail(RuleId::CopyHole, parameter, "{} bytes at {:#x} pass the end of all addresses", size_bytes,
                start.value);
  PinnedRange range;
  range.space_ = &space;
  range.start_ = start;
  range.end_ = start;
  const Va end = start + size_bytes;
  for (Va at = start; at < end;) {
    const PageEntry entry = space.entry(at);
    if (entry.tag() != where) [[unlikely]]
      return forward(hole(space, start, size_bytes, at, parameter));
    const Mapping& mapping = space.live_mapping(entry.mapping());
    if (!pin(mapping)) [[unlikely]] {
      if (space.entry(at).raw != entry.raw) continue;  // already gone, or something else by now
      return forward(hole(space, start, size_bytes, at, parameter));
    }
    if (space.entry(at).raw != entry.raw) [[unlikely]] {  // the mapping was given a new life elsewhere
      unpin_one(mapping);
      continue;
    }
    const Va mapping_end{mapping.start.load(std::memory_order_relaxed) +
                         mapping.size_bytes.load(std::memory_order_relaxed)};
    Result<> allowed;
    if (!may_access(mapping, device)) [[unlikely]]
      allowed = fail(RuleId::CopyAccess, parameter,
                     "the mapping of {} bytes at {:#x} was made without access and nobody was granted any",
                     mapping.size_bytes.load(std::memory_order_relaxed),
                     mapping.start.load(std::memory_order_relaxed));
    else if (mapping.kind.load(std::memory_order_relaxed) != MappingKind::Client)
      allowed = check_allocation(mapping, start, at, end, parameter, range.block_);
    if (!allowed) [[unlikely]] {
      unpin_one(mapping);
      return forward(allowed.error());
    }
    range.end_ = std::min(end, mapping_end);
    at = range.end_;
  }
  if (space.broken().any()) [[unlikely]]
    if (const auto page = space.broken().meet(start, end))
      return fail(RuleId::MemoryBroken, parameter, "[{:#x}, {:#x}) touches the broken page of {} at {:#x}",
                  start.value, end.value, format_bytes(core::kPageBytes), page->value);
  return range;
}

void PinnedRange::unpin(Va end) {
  vmm::unpin(std::exchange(block_, nullptr));
  for (Va at = start_; at < end;) {
    const Mapping& mapping = space_->live_mapping(space_->entry(at).mapping());
    at = Va{mapping.start.load(std::memory_order_relaxed) +
            mapping.size_bytes.load(std::memory_order_relaxed)};
    unpin_one(mapping);  // last: from here on the mapping may go
  }
}

}  // namespace plat::vmm
