// SPDX-License-Identifier: Apache-2.0
// Open ranges: one id for the client, and what each tool called it.
//
// Starting and ending take no lock. A record is owned by one thread at a time: by the starter until its state
// says open, and by the one that turns it from open to closed, so a range that is ended twice is ended once.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "mstx/broker_types.h"

namespace plat::mstx {

struct RangeRecord {
  struct Part {
    uint32_t tool;  // 0: the tool in this slot had no part in it
    uint64_t id;    // as the tool gave it, 0 included: some count from 0
  };
  std::array<Part, PLAT_MSTX_TOOLS_MAX> parts;
};

class Ranges {
 public:
  // Ranges that may be open at once. A program that never ends its ranges stops getting new ones here.
  static constexpr uint32_t kMax = 1u << 18;

  ~Ranges();

  // A record to fill; nullptr when kMax are open. `slot` identifies it to open() and give_back().
  RangeRecord* take(uint32_t& slot);
  // Publishes the record; the id is for the client and never 0.
  uint64_t open(uint32_t slot);
  void give_back(uint32_t slot);
  // The record of an open range, now the caller's until give_back(); nullptr if the id names none.
  RangeRecord* close(uint64_t id, uint32_t& slot);

  // After fork: a lock that another thread held is nobody's.
  void only_this_thread();

 private:
  struct Entry {
    std::atomic<uint64_t> state{0};  // generation << 1 | open
    std::atomic<uint32_t> next{0};
    RangeRecord record{};
  };
  static constexpr uint32_t kChunk = 256;
  using Chunk = std::array<Entry, kChunk>;

  Entry& entry(uint32_t slot) {
    return (*chunks_[slot / kChunk].load(std::memory_order_acquire))[slot % kChunk];
  }
  bool grow();

  std::array<std::atomic<Chunk*>, kMax / kChunk> chunks_{};
  std::atomic<uint64_t> free_{0};  // tag << 32 | slot + 1; the tag makes a stale head fail
  std::mutex growing_;
  uint32_t chunk_count_ = 0;
};

}  // namespace plat::mstx
