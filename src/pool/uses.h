// SPDX-License-Identifier: Apache-2.0
// Uses: blocks that work on several streams uses. Freeing one records an event on each of those streams; the
// block comes back when all of them have passed. Rare enough that a map and a list do.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "plat/pool.h"
#include "pool/events.h"

namespace plat::pool {

class Uses {
 public:
  explicit Uses(Events& events) : events_(events) {}
  ~Uses() { clear(); }
  Uses(const Uses&) = delete;
  Uses& operator=(const Uses&) = delete;

  // Whether there is anything to look at; without the lock, and relaxed. The use of a block, and that it was
  // freed, are noted before the program can have told a thread of it: who frees the block, asks for it or
  // forgets the stream then reads the count that has it in it, or a later one. An old 0 is read only by who
  // could as well have come before the note, or for collect(), which then comes one call later.
  bool any() const { return count_.load(std::memory_order_relaxed) != 0; }
  // Work on the stream uses a live block.
  void note(void* address, plat_stream stream);
  // The block is freed on `stream`, its own. kNo: nobody else uses it, and nothing happened.
  enum class Taken { kNo, kYes, kTwice };
  Taken take_over(void* address, plat_stream stream);
  // Whether the block was freed already and waits for its streams. It is in the books of its zone meanwhile.
  bool is_waiting(const void* address);

  struct Freed {
    void* address;
    plat_stream stream;  // its own, which may still use it
  };
  // The blocks that all others have done with; after waiting for them, if wanted.
  std::vector<Freed> collect(bool wait);
  // A stream has finished: no use of it is noted any more.
  void forget(plat_stream stream);
  void clear();

 private:
  struct Waiting {  // a freed block that several streams still use
    Freed block;
    std::vector<void*> events;
    std::vector<plat_stream> unrecorded;  // streams that have no event yet
  };
  void record_events(Waiting& waiting);
  bool passed(Waiting& waiting, bool wait);
  void count() { count_ = static_cast<uint32_t>(uses_.size() + waiting_.size()); }

  Events& events_;
  std::mutex mutex_;  // guards all below; events are asked while it is held
  std::unordered_map<void*, std::vector<plat_stream>> uses_;
  std::vector<Waiting> waiting_;
  std::unordered_set<const void*> addresses_;  // of waiting_
  std::atomic<uint32_t> count_{0};
};

}  // namespace plat::pool
