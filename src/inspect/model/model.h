// SPDX-License-Identifier: Apache-2.0
// What memory looked like at an event: built from the events before it, one at a time.
//
// The model only keeps the books: of memory, of streams, of what mstx tells, of copies. It tells a listener
// what happens, before the books change for an access and after they changed for a birth or death, and leaves
// the judgement to it; only what the books themselves cannot take, such as a handle given back twice, comes
// as a problem.
#pragma once

#include <map>
#include <string>

#include "inspect/model/copy_book.h"

namespace plat::inspect {

class Model {
 public:
  // A sweep comes when there are this many new objects, and as many as the last one left. 0: before every
  // event.
  static constexpr size_t kSweepAfter = 4096;
  static constexpr size_t kNoSweep = SIZE_MAX;  // for who wants to see all that ever lived
  static constexpr size_t kDeadHandles = Registry::kDeadHandles;

  explicit Model(Listener& listener, size_t sweep_after = kSweepAfter);

  void apply(const Event& event);

  const Object& object(ObjectId id) const { return registry_.at(id); }
  const Objects& objects() const { return registry_.objects(); }
  const Order& order() const { return streams_.order(); }

  using Ranges = MemoryBook::Ranges;
  const Ranges& memory() const { return memory_.memory(); }              // blocks and mappings
  const Ranges& freed_memory() const { return memory_.freed_memory(); }  // what was there last
  const Ranges& reservations() const { return memory_.reservations(); }
  const std::map<std::string, Layer>& layers() const { return mstx_.layers(); }
  // Whether memory is what a pool holds that still lives, so that only the pool's blocks can be lost.
  bool is_held_by_pool(const Object& object) const { return mstx_.is_held_by_pool(object); }
  // Memory under an address of its own that the trace says little about: the device's view of host memory,
  // blocks of other processes.
  bool is_view(uint64_t address) const { return memory_.is_view(address); }

  // visit(start, end, event number) for the bytes of a range that were written, in addresses.
  template <class Visit>
  void for_each_written(uint64_t address, uint64_t size, Visit&& visit) const {
    memory_.for_each_written(address, size, visit);
  }
  // visit(holder, offset, address, size) for the parts of a range that lie in blocks, or in the physical
  // memory behind mappings.
  template <class Visit>
  void for_each_storage(uint64_t address, uint64_t size, Visit&& visit) const {
    memory_.for_each_storage(address, size, visit);
  }
  uint64_t launch_of_work(uint32_t thread) const { return streams_.launch_of_work(thread); }
  // Whether nobody can say which of its bytes were written: the host writes as it likes, other processes do,
  // or nobody is known to have allocated it.
  bool is_opaque(uint64_t address) const { return memory_.is_opaque(address); }

 private:
  Registry registry_;
  StreamBook streams_;
  MemoryBook memory_;
  MstxBook mstx_;
  CopyBook copies_;
};

}  // namespace plat::inspect
