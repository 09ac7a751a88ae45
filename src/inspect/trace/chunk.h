// SPDX-License-Identifier: Apache-2.0
// The events of one chunk, one after the other.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "inspect/trace/coding.h"
#include "inspect/trace/event.h"

namespace plat::inspect {

// An event as it stands in the file, with the time in ticks.
struct RawEvent : Operation {
  uint8_t flags = 0;
  int result = 0;
  uint32_t thread = 0;
  uint32_t stack = 0;
  uint64_t ticks = 0;
  std::string_view text;         // into the chunk
  std::vector<uint64_t> frames;  // of Op::Stack
};

class ChunkDecoder {
 public:
  ChunkDecoder() = default;
  // The bytes must outlive the decoder.
  ChunkDecoder(const uint8_t* data, size_t size) : bytes_(data, size) {}

  // False at the end, and at the first thing that is no event.
  bool next(RawEvent& event);
  // Whether it ended at something that is no event.
  bool damaged() const { return damaged_; }

 private:
  bool decode(RawEvent& event);

  ByteReader bytes_;
  uint64_t ticks_ = 0;
  uint32_t thread_ = 0;
  std::array<uint64_t, kBases> last_{};
  bool damaged_ = false;
};

}  // namespace plat::inspect
