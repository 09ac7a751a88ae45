// SPDX-License-Identifier: Apache-2.0
// Writes a trace in memory, for what was not recorded by plat record. Events come in their order.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "inspect/trace/ops.h"

namespace plat::inspect {

class TraceWriter {
 public:
  TraceWriter(uint32_t pid, const std::string& program);

  struct When {
    uint64_t time_ns = 0;
    uint32_t thread = 0;
    uint32_t stack = 0;
    bool begins = false;  // the call has only begun
  };
  void event(Op op, const When& when, std::initializer_list<uint64_t> words, std::string_view text = {});
  void stack(uint32_t number, const std::vector<uint64_t>& frames);

  // The whole file, once.
  std::string finish();

 private:
  void begin_thread(uint32_t thread);
  // Goes on in another chunk if this one has not as much room.
  void make_room(size_t size);
  void end_chunk();
  void put(uint64_t number);
  void put_byte(uint8_t byte);
  void store_used();

  std::string bytes_;
  size_t chunk_ = 0;  // where the last one begins; 0: there is none
  uint32_t thread_ = 0;
  uint64_t last_ticks_ = 0;
  uint64_t last_[kBases] = {};
};

}  // namespace plat::inspect
