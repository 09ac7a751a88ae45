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
}  // namespace

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
  const std::unique_lock lock(mutex_);
  ranges_.emplace(va_of(start).value, Registration{align_up(size_bytes, kRounding), true, true});
  return start;
}

Result<> HostHeap::free(void* start) {
  {
    const std::unique_lock lock(mutex_);
    const auto found = ranges_.find(va_of(start).value);
    if (found == ranges_.end() || !found->second.allocated)
      return fail(RuleId::HostFreeUnknown, "hostPtr", "{} is not the start of page-locked memory",
                  fmt::ptr(start));
    ranges_.erase(found);
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
  return {};
}

std::optional<HostHeap::Found> HostHeap::find(Va va) const {
  const std::shared_lock lock(mutex_);
  const auto range = at_or_before(va.value);
  if (range == ranges_.end() || va.value - range->first >= range->second.size_bytes) return std::nullopt;
  return Found{Va{range->first}, range->second};
}

}  // namespace plat::memory
