// SPDX-License-Identifier: Apache-2.0
// Sleeper: the pages of a zone go back to the device while every address stays, and come back exactly or not
// at all.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "pool/ladder.h"
#include "pool/reporting.h"

namespace plat::pool {

class Sleeper {
 public:
  Sleeper(const std::string& name, Family& family, Zones& zones, Caches& caches, Recycler& recycler,
          Backing& backing, Ladder& ladder, Reporting& reporting, FastPathSwitch& fast)
      : name_(name),
        family_(family),
        zones_(zones),
        caches_(caches),
        recycler_(recycler),
        backing_(backing),
        source_(backing.source()),
        ladder_(ladder),
        reporting_(reporting),
        fast_(fast) {}

  // Both take the growth lock, and leave things as they were when they fail.
  plat_pool_status sleep(uint16_t tag, bool save);
  plat_pool_status wake(uint16_t tag);
  // Gives back what pages the sleeping zones still have.
  void close();

 private:
  struct SavedPage {
    uint32_t index;
    void* handle;                      // null: given back to the device
    std::unique_ptr<char[]> contents;  // null when not saved
    bool mapped = false;               // the device refused to take the mapping away
  };
  using Plans = std::unordered_map<Zone*, std::vector<SavedPage>>;
  size_t stay_awake(Plans& plans);

  const std::string& name_;
  Family& family_;
  Zones& zones_;
  Caches& caches_;
  Recycler& recycler_;
  Backing& backing_;
  Source& source_;
  Ladder& ladder_;
  Reporting& reporting_;
  FastPathSwitch& fast_;
  Plans saved_;  // the zones that sleep; the growth lock guards it
};

}  // namespace plat::pool
