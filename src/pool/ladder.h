// SPDX-License-Identifier: Apache-2.0
// Ladder: what is tried before a pool says that there is no memory. Each rung frees something, and each is
// followed by one more try; the last is the program's callback, after which the ladder is climbed once more.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/range_block.h"
#include "pool/backing.h"
#include "pool/recycler.h"

namespace plat::pool {

class Ladder {
 public:
  // `pool`: for its relatives and the other pools of the process.
  Ladder(Pool& pool, const std::string& name, const plat_pool_options& options, Family& family, Zones& zones,
         Streams& streams, Recycler& recycler, Backing& backing)
      : pool_(pool),
        name_(name),
        options_(options),
        family_(family),
        zones_(zones),
        streams_(streams),
        recycler_(recycler),
        backing_(backing) {}

  // A request: the memory is for a domain, whose stream may be made to wait for others.
  struct Need {
    uint64_t bytes = 0;
    uint16_t domain = 0;
    plat_stream stream = nullptr;
  };
  // A live block in the zone. Fails with the sentence that says what is held.
  plat_pool_status place(Zone& zone, uint32_t granules, uint32_t align, const Need& need,
                         core::RangeId* block);
  // Pages that are mapped nowhere, into `pages`; or kept, where that is null. Takes the growth lock.
  Outcome gather_pages(size_t count, std::vector<void*>* pages);
  // What could not be had, what is held, and what the device said.
  plat_pool_status short_of(Outcome outcome, const std::string& what);

  uint64_t times_exhausted() const { return times_exhausted_; }

  struct Rung {
    const char* name;
    // False when it can free nothing: there is no need for another try.
    bool (Ladder::*climb)(const Need& need);
  };
  static std::span<const Rung> rungs();

 private:
  using Attempt = std::function<Outcome()>;
  Outcome gather(const Need& need, const Attempt& attempt);
  Outcome climb(const Need& need, const Attempt& attempt);
  std::string account();
  bool return_caches(const Need& need);
  bool ask_streams(const Need& need);
  bool make_the_stream_wait(const Need& need);
  bool wait_for_streams(const Need& need);
  bool ask_other_pools(const Need& need);

  Pool& pool_;
  const std::string& name_;
  const plat_pool_options& options_;
  Family& family_;
  Zones& zones_;
  Streams& streams_;
  Recycler& recycler_;
  Backing& backing_;
  std::atomic<uint64_t> times_exhausted_{0};
};

}  // namespace plat::pool
