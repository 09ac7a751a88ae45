// HostHeap: host memory that the device knows: page-locked blocks, and ranges of the program's own that were
// registered.
//
// Both are ordinary host memory here, and the device sees them at the same addresses. What matters is that
// they are known: an asynchronous copy of such memory stays asynchronous.
#pragma once

#include <atomic>
#include <map>
#include <optional>
#include <shared_mutex>

#include "base/result.h"
#include "base/units.h"

namespace plat::memory {

class HostHeap {
 public:
  HostHeap() = default;
  ~HostHeap();
  HostHeap(const HostHeap&) = delete;
  HostHeap& operator=(const HostHeap&) = delete;

  // 64-byte aligned at least, 4 KiB from that size on.
  Result<void*> allocate(uint64_t size_bytes);
  Result<> free(void* start);

  struct Registration {
    uint64_t size_bytes = 0;
    bool allocated = false;  // by us, as opposed to registered
    bool mapped = true;      // the device has an address for it
  };
  Result<> add(void* start, uint64_t size_bytes, bool mapped);
  Result<> remove(void* start);

  struct Found {
    Va start;
    Registration what;
  };
  std::optional<Found> find(Va va) const;

 private:
  using Ranges = std::map<uint64_t, Registration>;
  Ranges::const_iterator at_or_before(uint64_t address) const;
  void forget_overlaps(uint64_t first, uint64_t size_bytes);

  mutable std::shared_mutex mutex_;  // guards ranges_; a leaf
  Ranges ranges_;
};

}  // namespace plat::memory
