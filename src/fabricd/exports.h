// SPDX-License-Identifier: Apache-2.0
// Exports: the memory of this server that other servers hold.
//
// Each import is a view of the block's pages in one piece, registered for the data connections, and one hold
// in the ledger: the pages are nobody else's until it is released, whatever became of the process that
// exported them. Nothing else of a device can be written to in this process.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <set>

#include "device/node.h"
#include "fabricd/target.h"

namespace plat::fabricd {

class Exports {
 public:
  Exports(device::Node& node, Target& target) : node_(node), target_(target) {}
  Exports(const Exports&) = delete;
  Exports& operator=(const Exports&) = delete;

  struct Granted {
    uint64_t import = 0;
    uint64_t size_bytes = 0;
    uint32_t attribute = 0;
    uint32_t location_type = 0;
    uint32_t location_id = 0;
    uint64_t key = 0;
    uint64_t base = 0;
  };
  Outcome<Granted> grant(Guest guest, uint64_t share, uint64_t secret);
  // Nothing of the guest's is under way to this memory any more.
  Outcome<> take_back(Guest guest, uint64_t import);
  // The guest is gone. Its data connections are closed before its memory is taken back.
  void drop(Guest guest);

  struct Count {
    uint64_t imports = 0;
    uint64_t bytes = 0;
  };
  // By the bank that has the memory.
  std::map<device::BankId, Count> held_by(Guest guest);

 private:
  struct Import {
    Guest guest = 0;
    device::Bank* bank = nullptr;
    device::BlockId block;
    std::byte* view = nullptr;
    uint64_t size_bytes = 0;
    Target::Registered registered;
  };
  Outcome<device::Bank*> bank_of(uint64_t share);
  void close(device::Bank& bank);
  static Outcome<std::byte*> view_of(device::Bank& bank, device::BlockId block, uint64_t size_bytes);
  static void end(Import import);

  device::Node& node_;
  Target& target_;
  std::mutex mutex_;  // guards what follows; not held while memory is taken or given back
  std::map<uint64_t, Import> imports_;
  std::set<device::Bank*> closed_;
  uint64_t next_ = 1;
};

}  // namespace plat::fabricd
