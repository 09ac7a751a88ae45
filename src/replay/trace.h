// SPDX-License-Identifier: Apache-2.0
// A trace of allocations, whatever it was recorded with.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace plat::replay {

struct Event {
  uint32_t block;  // dense number of the block
  bool allocate;
  uint64_t bytes;   // of the block, also on free
  uint32_t stream;  // 0: none, the memory is idle
  uint32_t line;    // of the file, from 1; 0: it has no lines
};

// Before the event of this number, work on a stream that is not the block's begins to use it.
struct Use {
  size_t before;
  uint32_t block;
  uint32_t stream;
};

struct Trace {
  std::vector<Event> events;
  std::vector<Use> uses;  // in order
  uint32_t streams = 0;   // numbered from 1
  uint32_t blocks = 0;
  uint64_t peak_live_bytes = 0;
};

// Reads our CSV, a recording of the inspector, an RMM log, a PyTorch memory snapshot or a database of
// memscope, each plain or gzipped; the content tells which. On failure `why` says what is wrong and where,
// and the trace is empty. A gzipped file of a few bytes can be any size: it is unpacked up to a limit.
inline constexpr uint64_t kUnpackedMax = uint64_t{1} << 30;
bool read_trace(const std::string& path, Trace& trace, std::string& why,
                uint64_t unpacked_max = kUnpackedMax);

// The same from text in memory.
bool parse_trace(const std::string& content, Trace& trace, std::string& why);

}  // namespace plat::replay
