#include "malloc/host_heap.h"

#include <cstdlib>
#include <mutex>

#include "base/text.h"
#include "os/memory.h"
#include "rules/rules.h"

namespace plat::memory {

namespace {
constexpr uint64_t kRounding = 32;
constexpr uint64_t kSmallAlignment = 64;
constexpr uint64_t kPageAlignment = 4096;
constexpr uint64_t kCheckAbove = 64_MiB;  // asking the system what is left takes some microseconds

// How often a range was taken out of any heap. A range that a thread found is there still while this stays as
// it was: asynchronous copies ask about the same few ranges again and again.
std::atomic<uint64_t> g_removals{1};

struct LastFound {
  uint64_t removals;  // 0: nothing yet
  const HostHeap* heap;
  uint64_t start;
  HostHeap::Registration what;
};
[[gnu::tls_model("initial-exec")]] constinit thread_local LastFound t_last{};

}  // namespace

HostHeap::~HostHeap() { g_removals.fetch_add(1); }

Result<void*> HostHeap::allocate(uint64_t size_bytes) {
  if (size_bytes > UINT64_MAX - kPageAlignment)
    return fail(RuleId::MallocOverflow, "size", "size is {}", size_bytes);
  const uint64_t alignment = size_bytes >= kPageAlignment ? kPageAlignment : kSmallAlignment;
  const uint64_t size = align_up(align_up(size_bytes, kRounding), alignment);
  if (size >= kCheckAbove) {
    const os::Headroom room = os::headroom();
    if (size > room.available_bytes)
      return fail(RuleId::OutOfHostMemory, "size", "asked for {} ({} bytes) of host memory, {} has {} left",
                  format_bytes(size), size, room.limited_by, format_bytes(room.available_bytes));
  }
  void* start = std::aligned_alloc(alignment, size);
  if (start == nullptr)
    return fail(RuleId::OutOfHostMemory, "size", "the system refused {} ({} bytes) of host memory",
                format_bytes(size), size);
  const Registration block{align_up(size_bytes, kRounding), true, true};
  const std::unique_lock lock(mutex_);
  forget_overlaps(va_of(start).value, block.size_bytes);
  try {
    ranges_.emplace(va_of(start).value, block);
  } catch (...) {
    std::free(start);
    throw;
  }
  return start;
}

// Memory that was registered, given back to the system without a word, and is now a block of ours.
void HostHeap::forget_overlaps(uint64_t first, uint64_t size_bytes) {
  auto range = at_or_before(first);
  if (range == ranges_.end()) range = ranges_.lower_bound(first);
  while (range != ranges_.end() && range->first < first + size_bytes) {
    if (first < range->first + range->second.size_bytes) {
      range = ranges_.erase(range);
      g_removals.fetch_add(1, std::memory_order_release);
    } else {
      ++range;
    }
  }
}

Result<> HostHeap::free(void* start) {
  {
    const std::unique_lock lock(mutex_);
    const auto found = ranges_.find(va_of(start).value);
    if (found == ranges_.end() || !found->second.allocated)
      return fail(RuleId::HostFreeUnknown, "hostPtr", "{} is not the start of page-locked memory",
                  fmt::ptr(start));
    ranges_.erase(found);
    g_removals.fetch_add(1, std::memory_order_release);
  }
  std::free(start);
  return {};
}

// The last range that starts at or before the address.
HostHeap::Ranges::const_iterator HostHeap::at_or_before(uint64_t address) const {
  auto after = ranges_.upper_bound(address);
  return after == ranges_.begin() ? ranges_.end() : std::prev(after);
}

Result<> HostHeap::add(void* start, uint64_t size_bytes, bool mapped) {
  const uint64_t first = va_of(start).value;
  if (size_bytes > UINT64_MAX - first)
    return fail(RuleId::MallocOverflow, "size", "{} bytes at {:#x} pass the end of all addresses", size_bytes,
                first);
  const std::unique_lock lock(mutex_);
  const auto next = ranges_.lower_bound(first);
  const auto before = at_or_before(first);
  const auto overlaps = [&](Ranges::const_iterator range) {
    return range != ranges_.end() && range->first < first + size_bytes &&
           first < range->first + range->second.size_bytes;
  };
  for (const auto& range : {before, Ranges::const_iterator(next)})
    if (overlaps(range))
      return fail(RuleId::HostRegisterOverlap, "ptr", "[{:#x}, {:#x}) overlaps the {} of {} bytes at {:#x}",
                  first, first + size_bytes, range->second.allocated ? "page-locked memory" : "registration",
                  range->second.size_bytes, range->first);
  ranges_.emplace(first, Registration{size_bytes, false, mapped});
  return {};
}

Result<> HostHeap::remove(void* start) {
  const std::unique_lock lock(mutex_);
  const auto found = ranges_.find(va_of(start).value);
  if (found == ranges_.end() || found->second.allocated)
    return fail(RuleId::HostUnregisterUnknown, "ptr", "no registration starts at {}", fmt::ptr(start));
  ranges_.erase(found);
  g_removals.fetch_add(1, std::memory_order_release);
  return {};
}

std::optional<HostHeap::Found> HostHeap::find(Va va) const {
  const uint64_t removals = g_removals.load(std::memory_order_acquire);
  if (t_last.removals == removals && t_last.heap == this && va.value - t_last.start < t_last.what.size_bytes)
      [[likely]]
    return Found{Va{t_last.start}, t_last.what};
  const std::shared_lock lock(mutex_);
  const auto range = at_or_before(va.value);
  if (range == ranges_.end() || va.value - range->first >= range->second.size_bytes) return std::nullopt;
  t_last = {removals, this, range->first, range->second};
  return Found{Va{range->first}, range->second};
}

}  // namespace plat::memory
