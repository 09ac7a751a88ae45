// SPDX-License-Identifier: Apache-2.0
// A tiny device in the process: the public calls that the pool uses, with every rule checked and every call
// counted.
//
// Link it in place of libascendcl.so. Memory is real (a memfd mapped where the pool maps pages) unless
// `backed` is off, in which case addresses are only numbers and a trace of 60 GiB costs nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string>

namespace plat::test {

struct CountingAcl {
  uint64_t capacity_bytes = uint64_t{64} << 30;
  bool backed = true;
  bool on_itself = false;        // programs run on the device
  bool streams_finish = true;    // off: events complete only through finish()
  std::set<void*> gone_streams;  // that were destroyed, or never created
  const char* soc = "Ascend910B";
  uint64_t fail_call = 0;  // the n-th checked call from now fails; 0: none
  int fail_code = 207001;
  // Called with the call's name before each device call, for tests that watch the order.
  std::function<void(const char*)> watch;

  // What happened.
  uint64_t calls = 0;
  uint64_t reserves = 0, releases = 0, creates = 0, destroys = 0, maps = 0, unmaps = 0;
  uint64_t mallocs = 0, frees = 0, events_recorded = 0, stream_waits = 0, synchronizes = 0;
  uint64_t stale_calls = 0;  // with streams that are gone
  uint64_t held_bytes = 0;   // physical memory in use
  uint64_t broken_rules = 0;
  std::string first_broken;

  // Everything queued on every stream has run.
  void finish();
  // Nothing is reserved, allocated or mapped, and no event is left.
  bool clean() const;
  // Streams with an allocator of their own.
  size_t allocators() const;
};

CountingAcl& device();
// A fresh device; what is left of the old one is dropped.
void reset_device();

}  // namespace plat::test
