// SPDX-License-Identifier: Apache-2.0
#include "malloc/host_heap.h"

#include <mutex>

#include "base/text.h"
#include "malloc/policy.h"
#include "os/memory.h"
#include "os/page.h"
#include "rules/rules.h"

namespace plat::malloc {

namespace {
constexpr uint64_t kCheckAbove = 64_MiB;  // asking the system what is left takes some microseconds

// How often a range was taken out of any heap. A range that a thread found is there still while this stays as
// it was: asynchronous copies ask about the same few ranges again and again.
std::atomic<uint64_t> g_removals{1};
std::atomic<uint64_t> g_heaps{0};

struct LastFound {
  uint64_t removals;  // 0: nothing yet
  const HostHeap* heap;
  uint64_t start;
  HostHeap::Registration what;
};
[[gnu::tls_model("initial-exec")]] constinit thread_local LastFound t_last{};

// The last range that starts at or before the address.
template <class Map>
typename Map::const_iterator at_or_before(const Map& ranges, uint64_t address) {
  auto after = ranges.upper_bound(address);
  return after == ranges.begin() ? ranges.end() : std::prev(after);
}

bool overlap(uint64_t first, uint64_t size_bytes, uint64_t other, uint64_t other_bytes) {
  return other < first + size_bytes && first < other + other_bytes;
}

}  // namespace

HostHeap::HostHeap() : serial_(g_heaps.fetch_add(1) + 1) {}

HostHeap::~HostHeap() { g_removals.fetch_add(1); }

Result<void*> HostHeap::allocate(uint64_t size_bytes) {
  if (size_bytes > UINT64_MAX - os::page_bytes())
    return fail(RuleId::MallocOverflow, "size", "size is {}", size_bytes);
  const uint64_t size = align_up(size_bytes, os::page_bytes());
  if (size >= kCheckAbove) {
    const os::Headroom room = os::headroom();
    if (size > room.available_bytes)
      return fail(RuleId::OutOfHostMemory, "size", "asked for {} ({} bytes) of host memory, {} has {} left",
                  format_bytes(size_bytes), size_bytes, room.limited_by, format_bytes(room.available_bytes));
  }
  std::unique_lock lock(mutex_);
  const uint32_t index = table_.take();
  HostBlock* block = table_.find(index);
  const auto start = block == nullptr ? std::nullopt : arena_.allocate(size);
  if (!start) {
    if (block != nullptr) table_.give_back(index);
    lock.unlock();
    return fail(RuleId::OutOfHostMemory, "size", "the system refused {} ({} bytes) of host memory",
                format_bytes(size_bytes), size_bytes);
  }
  block->start = *start;
  block->size_bytes = align_up(size_bytes, kRounding);
  block->asked_bytes = size_bytes;
  block->index = index;
  forget_registrations(*start, block->size_bytes);
  try {
    blocks_.emplace(*start, block);
  } catch (...) {
    arena_.free(*start, size);
    table_.give_back(index);
    throw;
  }
  lock.unlock();
  history_.allocated(Va{*start});
  return pointer_of(Va{*start});
}

// Memory that was registered, given back to the system without a word, and is now a block of ours; or a block
// that goes with what was registered of it.
void HostHeap::forget_registrations(uint64_t first, uint64_t size_bytes) {
  auto range = at_or_before(registered_, first);
  if (range == registered_.end()) range = registered_.lower_bound(first);
  while (range != registered_.end() && range->first < first + size_bytes) {
    if (overlap(first, size_bytes, range->first, range->second.size_bytes)) {
      range = registered_.erase(range);
      g_removals.fetch_add(1, std::memory_order_release);
    } else {
      ++range;
    }
  }
}

HostBlock* HostHeap::block_around(uint64_t address) const {
  const auto found = at_or_before(blocks_, address);
  return found != blocks_.end() && address - found->first < found->second->size_bytes ? found->second
                                                                                      : nullptr;
}

Result<> HostHeap::free(void* start, const char* how) {
  const Va va = va_of(start);
  uint64_t asked_bytes = 0;
  {
    std::unique_lock lock(mutex_);
    const auto found = blocks_.find(va.value);
    if (found == blocks_.end()) {
      const HostBlock* around = block_around(va.value);
      std::string known = around == nullptr
                              ? ""
                              : fmt::format("; it is offset {} of the block of {} bytes at {:#x}",
                                            va.value - around->start, around->asked_bytes, around->start);
      lock.unlock();
      if (known.empty()) known = history_.tell(va);
      return fail(RuleId::HostFreeUnknown, "hostPtr", "{} is not the start of page-locked memory{}{}",
                  fmt::ptr(start), known.empty() || known[0] == ';' ? "" : "; ", known);
    }
    HostBlock& block = *found->second;
    if (HostUse::is_used(block))
      return fail(RuleId::HostFreeBusy, "hostPtr", "a copy is using the block of {} bytes at {:#x}",
                  block.asked_bytes, block.start);
    asked_bytes = block.asked_bytes;
    forget_registrations(block.start, block.size_bytes);
    arena_.free(block.start, block.size_bytes);
    blocks_.erase(found);
    table_.give_back(block.index);
    g_removals.fetch_add(1, std::memory_order_release);
  }
  history_.freed(va, asked_bytes, how);
  return {};
}

Result<> HostHeap::hold(HostUse& use, Va va, uint64_t size_bytes, HostUse::Side side,
                        const char* parameter) const {
  if (!arena_.contains(va)) return {};
  {
    const std::shared_lock lock(mutex_);
    HostBlock* block = block_around(va.value);
    if (block != nullptr && size_bytes <= block->size_bytes - (va.value - block->start)) {
      use.take(serial_, *block, va, side);
      return {};
    }
    if (block != nullptr)
      return fail(
          RuleId::CopyPastEnd, parameter,
          "{} bytes at offset {} of the page-locked block of {} bytes at {:#x} pass its end by {} bytes{}",
          size_bytes, va.value - block->start, block->asked_bytes, block->start,
          va.value - block->start + size_bytes - block->asked_bytes,
          history_.allocation_stack(Va{block->start}));
  }
  const std::string known = history_.tell(va);
  return fail(RuleId::CopyFreed, parameter, "[{:#x}, +{} bytes): no page-locked memory is there{}{}",
              va.value, size_bytes, known.empty() ? "" : "; ", known);
}

Result<> HostHeap::check_locked(uint64_t first, uint64_t size_bytes, bool mapped) const {
  if (size_bytes > UINT64_MAX - first)
    return fail(RuleId::MallocOverflow, "size", "{} bytes at {:#x} pass the end of all addresses", size_bytes,
                first);
  const auto refuse = [&](const char* what, uint64_t bytes, uint64_t at) {
    return fail(RuleId::HostRegisterOverlap, "ptr", "[{:#x}, {:#x}) overlaps the {} of {} bytes at {:#x}",
                first, first + size_bytes, what, bytes, at);
  };
  const HostBlock* block = block_around(first);
  if (block == nullptr) {
    const auto next = blocks_.lower_bound(first);
    if (next != blocks_.end() && next->first < first + size_bytes) block = next->second;
  }
  // A device address for page-locked memory is what most clients register for; to lock it again is a mistake.
  if (block != nullptr && (!mapped || first < block->start ||
                           first + size_bytes > align_up(block->start + block->size_bytes, os::page_bytes())))
    return refuse("page-locked memory", block->asked_bytes, block->start);
  for (const auto& range : {at_or_before(registered_, first), registered_.lower_bound(first)})
    if (range != registered_.end() && overlap(first, size_bytes, range->first, range->second.size_bytes))
      return refuse("registration", range->second.size_bytes, range->first);
  return {};
}

Result<> HostHeap::check(void* start, uint64_t size_bytes, bool mapped) const {
  const std::shared_lock lock(mutex_);
  return check_locked(va_of(start).value, size_bytes, mapped);
}

Result<> HostHeap::add(void* start, uint64_t size_bytes, bool mapped) {
  const uint64_t first = va_of(start).value;
  const std::unique_lock lock(mutex_);
  PLAT_TRY(check_locked(first, size_bytes, mapped));
  registered_.emplace(first, Registration{size_bytes, false, mapped});
  return {};
}

Result<> HostHeap::remove(void* start) {
  const std::unique_lock lock(mutex_);
  const auto found = registered_.find(va_of(start).value);
  if (found == registered_.end())
    return fail(RuleId::HostUnregisterUnknown, "ptr", "no registration starts at {}", fmt::ptr(start));
  registered_.erase(found);
  g_removals.fetch_add(1, std::memory_order_release);
  return {};
}

std::optional<HostHeap::Found> HostHeap::find(Va va) const {
  const uint64_t removals = g_removals.load(std::memory_order_acquire);
  if (t_last.removals == removals && t_last.heap == this && va.value - t_last.start < t_last.what.size_bytes)
      [[likely]]
    return Found{Va{t_last.start}, t_last.what};
  const std::shared_lock lock(mutex_);
  if (const HostBlock* block = block_around(va.value)) {
    t_last = {removals, this, block->start, {block->size_bytes, true, true}};
  } else {
    const auto range = at_or_before(registered_, va.value);
    if (range == registered_.end() || va.value - range->first >= range->second.size_bytes)
      return std::nullopt;
    t_last = {removals, this, range->first, range->second};
  }
  return Found{Va{t_last.start}, t_last.what};
}

}  // namespace plat::malloc
