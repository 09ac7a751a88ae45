// SPDX-License-Identifier: Apache-2.0
#include "malloc/host_arena.h"

#include <algorithm>
#include <bit>
#include <new>

#include "base/text.h"
#include "os/environment.h"
#include "os/memory.h"

namespace plat::malloc {

namespace {

constexpr uint64_t kHugePage = 2_MiB;
constexpr uint64_t kSmallestWindow = 64_MiB;
constexpr uint64_t kLargestWindow = 64_TiB;
// Each takes two mappings of the kernel, of 65530 that a process usually has.
constexpr size_t kMaxPieces = 400;

// Addresses cost nothing. There are more than the machine has memory, so that holes do no harm. An emulator
// of another processor keeps a record of each page, and of 128 GiB that is a GiB: PLAT_LOCKED_ADDRESSES is
// for it.
uint64_t most_bytes() {
  const auto text = os::variable("PLAT_LOCKED_ADDRESSES");
  if (const auto wanted = text ? parse_bytes(*text) : std::nullopt)
    return std::bit_ceil(std::clamp<uint64_t>(*wanted, kSmallestWindow, kLargestWindow));
  return std::bit_ceil(std::max<uint64_t>(4 * os::machine_memory_bytes(), 64_GiB));
}

}  // namespace

HostArena::~HostArena() {
  if (size_bytes_.load() != 0) os::release_address(start_.load(), size_bytes_.load());
}

bool HostArena::reserve() {
  if (size_bytes_.load(std::memory_order_relaxed) != 0) return true;
  for (uint64_t size = most_bytes(); size >= kSmallestWindow; size /= 2) {
    const uint64_t start = os::reserve_address(0, size);
    if (start == 0) continue;
    // The first and the last page stay closed: no range runs into the window or out of it unnoticed.
    free_.add(start + page_, start + size - page_);
    start_.store(start, std::memory_order_relaxed);
    size_bytes_.store(size, std::memory_order_release);
    return true;
  }
  return false;
}

std::optional<uint64_t> HostArena::allocate(uint64_t size_bytes) {
  if (!reserve()) return std::nullopt;
  const uint64_t size = align_up(size_bytes, page_);
  const auto start = free_.allocate(size, size >= kHugePage ? kHugePage : page_);
  if (!start) return std::nullopt;
  bool is_open = false;
  try {
    is_open = open(*start, *start + size);
  } catch (const std::bad_alloc&) {  // no memory for a record: as if the system had refused
  }
  if (is_open) return start;
  free_.release(*start, size);
  return std::nullopt;
}

void HostArena::free(uint64_t start, uint64_t size_bytes) {
  const uint64_t size = align_up(size_bytes, page_);
  if (!close(start, start + size)) os::forget_contents(start, size);
  free_.release(start, size);
}

bool HostArena::open(uint64_t start, uint64_t end) {
  auto next = open_.upper_bound(start);
  auto before = next == open_.begin() ? open_.end() : std::prev(next);
  if (before != open_.end() && before->second >= end) return true;  // a hole that stayed open
  // The record first: there may be no memory for it.
  const bool joins = before != open_.end() && before->second >= start;
  const auto piece = joins ? before : open_.emplace_hint(next, start, start);
  if (!os::open_at(start, end - start)) {
    if (!joins) open_.erase(piece);
    return false;
  }
  for (; next != open_.end() && next->first <= end; next = open_.erase(next))
    end = std::max(end, next->second);
  piece->second = end;
  return true;
}

// False when it would leave too many pieces, or the system refuses.
bool HostArena::close(uint64_t start, uint64_t end) {
  const auto piece = std::prev(open_.upper_bound(start));
  const auto [first, last] = *piece;
  if (first < start && end < last && open_.size() >= kMaxPieces) return false;
  // The record first: there may be no memory for it.
  const auto behind = end < last ? open_.emplace_hint(std::next(piece), end, last) : open_.end();
  if (os::unmap_at(start, end - start) != 0) {
    if (behind != open_.end()) open_.erase(behind);
    return false;
  }
  if (first < start)
    piece->second = start;
  else
    open_.erase(piece);
  return true;
}

}  // namespace plat::malloc
