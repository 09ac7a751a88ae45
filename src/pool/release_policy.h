// SPDX-License-Identifier: Apache-2.0
// ReleasePolicy: when memory that holds nothing goes back to the device by itself. Needs no lock of its
// callers; takes the family's growth lock where it gives something back.
#pragma once

#include <cstdint>

#include "pool/backing.h"
#include "pool/clock.h"
#include "pool/recycler.h"

namespace plat::pool {

class ReleasePolicy {
 public:
  ReleasePolicy(const plat_pool_options& options, Family& family, Zones& zones, Streams& streams,
                Recycler& recycler, Backing& backing)
      : options_(options),
        family_(family),
        zones_(zones),
        streams_(streams),
        recycler_(recycler),
        backing_(backing) {}

  bool is_never() const { return options_.release == PLAT_POOL_RELEASE_NEVER; }
  // Around each free.
  void before_free();
  void after_free(const Zone& zone);
  // What the policy wants back goes; where time decides, the next free sees to it. The growth lock is held.
  void obey();

 private:
  uint64_t idle_bytes() { return zones_.movable_pages() * kPageBytes + backing_.spare_bytes(); }

  const plat_pool_options& options_;
  Family& family_;
  Zones& zones_;
  Streams& streams_;
  Recycler& recycler_;
  Backing& backing_;
  // The least that was idle since the window opened: nobody needed that much. The growth lock guards both.
  uint64_t idle_low_bytes_ = 0;
  TimePoint idle_since_ = clock_now.load()();
};

}  // namespace plat::pool
