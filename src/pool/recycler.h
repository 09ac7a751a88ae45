// SPDX-License-Identifier: Apache-2.0
// Recycler: how freed blocks become free memory. A block goes back to its zone, or stays with the thread that
// freed it; what was freed on a stream is that stream's until the stream has passed, which is asked only when
// somebody wants the memory.
#pragma once

#include <string>

#include "pool/caches.h"
#include "pool/fast_path_switch.h"
#include "pool/streams.h"
#include "pool/uses.h"
#include "pool/zones.h"

namespace plat::pool {

class Recycler {
 public:
  Recycler(const std::string& name, const plat_pool_options& options, Zones& zones, Streams& streams,
           Uses& uses, Caches& caches, const SpaceIndex& index, FastPathSwitch& fast)
      : name_(name),
        options_(options),
        zones_(zones),
        streams_(streams),
        uses_(uses),
        caches_(caches),
        index_(index),
        fast_(fast) {}

  // A block of the space that nobody but the stream uses. A small one is no longer marked as live.
  plat_pool_status put(Space& space, void* address, plat_stream stream);
  // Blocks that other streams have done with; false when there were none.
  bool collect(bool wait);
  // Memory of streams that have passed becomes nobody's, or, with a `waiter`, that stream's, which is made to
  // wait for the others. False when nothing changed hands. Own memory needs it too before its pages can move.
  bool settle(Streams::Effort effort, plat_stream waiter = nullptr, uint16_t for_domain = 0);
  // What threads keep comes back, as far as they can be reached, and empty spans are given up.
  void return_caches();
  void reclaim_spans();
  // The stream ends: waits for it and lets go of everything freed on it. False when it cannot be waited for,
  // and nothing is let go.
  bool forget(plat_stream stream);
  // All of the above that takes no waiting.
  void collect_idle();

 private:
  void settle_zones(uint16_t domain, uint32_t batch, uint16_t to = 0);

  const std::string& name_;
  const plat_pool_options& options_;
  Zones& zones_;
  Streams& streams_;
  Uses& uses_;
  Caches& caches_;
  const SpaceIndex& index_;
  FastPathSwitch& fast_;
};

}  // namespace plat::pool
