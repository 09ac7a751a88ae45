// SPDX-License-Identifier: Apache-2.0
// History: what became of device memory, for messages about blocks that are no longer there.
//
// The most recent frees are always known. With PLAT_STACKS=1 the calls that allocated and freed a block are
// known too; that costs a stack walk for each.
#pragma once

#include <array>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/units.h"
#include "os/stack.h"
#include "vmm/freed_block.h"

namespace plat::malloc {

class History {
 public:
  History();

  void allocated(Va start);
  // `extra_bytes`: what the call had added to the size that was asked for.
  void freed(Va start, uint64_t size_bytes, const char* how, uint64_t extra_bytes = 0);

  struct Death {
    Va start;
    uint64_t size_bytes = 0;
    uint64_t extra_bytes = 0;
    const char* how = "";  // the call
    uint64_t order = 0;    // how many frees came before
    int thread = 0;        // its number in the system
  };
  // The most recent free of memory around the address, unless it is too long ago.
  std::optional<Death> death_at(Va va) const;
  // The same for the handler of a signal: nothing either when another thread is writing at that moment.
  std::optional<vmm::FreedBlock> freed_at(Va va) const;
  // "0x... is offset 8 of the block of 96 bytes at 0x... that aclrtFree freed, 3 frees ago"; "" when nothing
  // is known. With stacks, if there are any.
  std::string tell(Va va) const;
  // The stack that allocated the live block; "" without PLAT_STACKS.
  std::string allocation_stack(Va start) const;

 private:
  static constexpr size_t kRemembered = 4096;

  const Death* last_death_at(Va va) const;  // under the lock
  static os::Stack walk();
  static std::string format(const os::Stack& stack);

  const bool stacks_;
  mutable std::mutex mutex_;  // guards everything below; a leaf
  std::vector<Death> deaths_;
  uint64_t free_count_ = 0;
  std::unordered_map<uint64_t, os::Stack> births_;                             // of live blocks
  std::unordered_map<uint64_t, std::pair<os::Stack, os::Stack>> dead_stacks_;  // by start: allocated, freed
};

}  // namespace plat::malloc
