// SPDX-License-Identifier: Apache-2.0
// Copies and fills: what they touch, in which order, and which bytes they write.
#pragma once

#include <map>

#include "inspect/model/mstx_book.h"

namespace plat::inspect {

class CopyBook {
 public:
  CopyBook(Registry& registry, StreamBook& streams, MemoryBook& memory, MstxBook& mstx)
      : registry_(registry), streams_(streams), memory_(memory), mstx_(mstx) {}

  void apply(const Event& event);

 private:
  // Who does it, and when.
  struct Turn {
    bool asynchronous = false;
    uint64_t stream = 0;
    uint32_t actor = Order::kHost;
    Position position;
  };
  Turn turn_of(const Event& event, bool asynchronous);
  void copy(const Event& event, uint64_t target, uint64_t source, uint64_t size, uint64_t direction,
            bool asynchronous);
  void check_sides(const Event& event, uint64_t target, uint64_t source, uint64_t size, uint64_t direction);
  void copy_2d(const Event& event, bool asynchronous);
  void fill(const Event& event, uint64_t size, bool asynchronous);
  void value_wait(const Event& event);
  void reduce(const Event& event);
  void prefetch(const Event& event);
  void tell(Access access, Position position);

  Registry& registry_;
  StreamBook& streams_;
  MemoryBook& memory_;
  MstxBook& mstx_;
  struct Descriptor {
    uint64_t target, source, size;
  };
  std::map<uint64_t, Descriptor> descriptors_;
};

}  // namespace plat::inspect
