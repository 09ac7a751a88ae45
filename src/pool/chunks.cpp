// SPDX-License-Identifier: Apache-2.0
// Chunks: how a source without pages grows and shrinks, by whole blocks of the device.
#include <algorithm>
#include <utility>

#include "base/units.h"
#include "pool/backing.h"

namespace plat::pool {

// Starts are promised to 64 bytes only. Places are told by their distance from a page, so a chunk that does
// not start at one is used from the next one on.
Outcome Backing::add_chunk(Zone& zone, uint64_t bytes, uint64_t need) {
  const bool callers = options_.source == PLAT_POOL_SOURCE_CALLER;
  void* base = nullptr;
  auto usable = [&](char** start) {
    const auto from = reinterpret_cast<uint64_t>(base);
    *start = static_cast<char*>(base) + (callers ? 0 : align_up(from, kPageBytes) - from);
    return align_down(bytes - static_cast<uint64_t>(*start - static_cast<char*>(base)),
                      callers ? core::kGranuleBytes : kPageBytes);
  };
  char* start = nullptr;
  if (const Outcome got = source_.create_block(bytes, &base); got != Outcome::kDone) return got;
  uint64_t room = usable(&start);
  if (room < need && !callers) {
    held_bytes_ += bytes;
    drop_chunk(base, bytes);
    bytes += kPageBytes;
    if (bytes > room_bytes()) return Outcome::kNoMemory;
    if (const Outcome got = source_.create_block(bytes, &base); got != Outcome::kDone) return got;
    room = usable(&start);
  }
  held_bytes_ += bytes;
  Space* space = nullptr;
  try {
    space = zone.add_space(start, room, true);
    if (space != nullptr) {
      watcher_.space_added(*space);
      index_.add(space);
    }
  } catch (...) {
    // The host has no memory for the records.
    if (space != nullptr) {
      watcher_.space_removed(*space);
      zone.heap().retire(space->first_block);
      space->gone = true;
    }
    drop_chunk(base, bytes);
    throw;
  }
  if (space == nullptr) {
    drop_chunk(base, bytes);
    return Outcome::kNoMemory;
  }
  space->chunk_base = base;
  space->chunk_bytes = bytes;
  note_held();
  address_bytes_ += bytes;
  ++maps_;
  return Outcome::kDone;
}

// The zone's lock is held. Where a whole chunk is too much, what the request needs may not be.
Outcome Backing::place_in_chunk(Zone& zone, uint32_t granules, uint32_t align, uint16_t domain,
                                core::RangeId* block) {
  const bool callers = options_.source == PLAT_POOL_SOURCE_CALLER;
  const uint64_t exact = (uint64_t{granules} + align - 1) << core::kGranuleShift;
  const uint64_t need = callers ? exact : align_up(exact, kPageBytes);
  // As much again as there is: one small request does not take much, and many do not take many calls.
  const uint64_t chunk =
      options_.chunk_bytes != 0 ? options_.chunk_bytes : std::clamp(held_bytes_.load(), kPageBytes, 64_MiB);
  const uint64_t wanted = callers ? options_.caller_bytes : align_up(std::max(need, chunk), kPageBytes);
  Outcome got = Outcome::kNoMemory;
  for (const uint64_t bytes : {wanted, need}) {
    if (callers || bytes <= room_bytes()) got = add_chunk(zone, bytes, need);
    if (got != Outcome::kNoMemory || wanted == need || callers) break;
  }
  if (got != Outcome::kDone) return got;
  *block = zone.heap().allocate(granules, align, domain);
  return *block != core::kNoBlock ? Outcome::kDone : Outcome::kNoMemory;
}

// Gives a chunk back that nothing lies in any more. One that the device does not take is kept and counted.
bool Backing::drop_chunk(void* base, uint64_t bytes) {
  if (!source_.destroy_block(base)) {
    refused_chunks_.emplace_back(base, bytes);
    return false;
  }
  held_bytes_ -= bytes;
  ++unmaps_;
  return true;
}

bool Backing::trim_chunks(Zone& zone, uint64_t keep_bytes) {
  auto again = std::exchange(refused_chunks_, {});
  bool taken = true;
  for (const auto& [base, bytes] : again) taken = drop_chunk(base, bytes) && taken;
  std::lock_guard guard(zone.lock());
  for (auto& space : zone.spaces()) {
    if (held_bytes_ <= keep_bytes) break;
    if (space->gone || !zone.heap().retire(space->first_block)) continue;
    index_.remove(space.get());
    watcher_.space_removed(*space);
    space->gone = true;
    address_bytes_ -= space->chunk_bytes;
    taken = drop_chunk(space->chunk_base, space->chunk_bytes) && taken;
  }
  return taken;
}

}  // namespace plat::pool
