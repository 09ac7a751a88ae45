// SPDX-License-Identifier: Apache-2.0
// HostHeap: host memory that the device knows: page-locked blocks, and ranges of the program's own that were
// registered.
//
// Both are ordinary host memory here, and the device sees them at the same addresses. Registered memory is
// the program's: what matters is that it is known, so that an asynchronous copy of it stays asynchronous.
// Page-locked blocks are ours (host_arena.h): copies stay inside them, they are not freed while a copy uses
// them, and nobody can touch them afterwards.
#pragma once

#include <map>
#include <optional>
#include <shared_mutex>

#include "base/result.h"
#include "core/stable_array.h"
#include "malloc/history.h"
#include "malloc/host_arena.h"
#include "malloc/host_use.h"

namespace plat::malloc {

class HostHeap {
 public:
  HostHeap();
  ~HostHeap();
  HostHeap(const HostHeap&) = delete;
  HostHeap& operator=(const HostHeap&) = delete;

  // In whole pages of 4 KiB.
  Result<void*> allocate(uint64_t size_bytes);
  // `how` names the call, for later messages. Fails (HostFreeBusy) while a copy uses the block.
  Result<> free(void* start, const char* how);

  struct Registration {
    uint64_t size_bytes = 0;
    bool allocated = false;  // by us, as opposed to registered
    bool mapped = true;      // the device has an address for it
  };
  Result<> add(void* start, uint64_t size_bytes, bool mapped);
  // Whether add() would find the range free.
  Result<> check(void* start, uint64_t size_bytes, bool mapped) const;
  Result<> remove(void* start);

  struct Found {
    Va start;
    Registration what;
  };
  std::optional<Found> find(Va va) const;

  // Whether the address can only be page-locked memory, live or freed.
  bool is_page_locked(Va va) const { return arena_.contains(va); }
  // Keeps the page-locked block around a range; all other memory is the program's own business. False: it has
  // to be asked for with hold().
  bool hold_again(HostUse& use, Va va, uint64_t size_bytes, HostUse::Side side) const {
    return !arena_.contains(va) || use.take_again(serial_, va, size_bytes, side);
  }
  // The same with a reason. `parameter` names the range in messages.
  Result<> hold(HostUse& use, Va va, uint64_t size_bytes, HostUse::Side side, const char* parameter) const;

  const History& history() const { return history_; }

 private:
  using Ranges = std::map<uint64_t, Registration>;
  using Blocks = std::map<uint64_t, HostBlock*>;
  void forget_registrations(uint64_t first, uint64_t size_bytes);
  HostBlock* block_around(uint64_t address) const;
  Result<> check_locked(uint64_t first, uint64_t size_bytes, bool mapped) const;

  const uint64_t serial_;
  HostArena arena_;  // changes are guarded by mutex_
  History history_;
  mutable std::shared_mutex mutex_;  // guards what follows; a leaf but for the history's
  core::StableArray<HostBlock> table_;
  Blocks blocks_;
  Ranges registered_;
};

}  // namespace plat::malloc
