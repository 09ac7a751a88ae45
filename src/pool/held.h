// SPDX-License-Identifier: Apache-2.0
// HeldRange: a stretch of addresses with memory behind it, and what lies in it, without a gap.
#pragma once

#include <cstdint>
#include <vector>

namespace plat::pool {

enum class PartState : uint8_t { kLive, kWaiting, kFree };  // waiting: freed, and other streams use it still

struct HeldPart {
  uint64_t bytes;
  uint64_t asked;  // of a block: what its owner may touch
  PartState state;
};

struct HeldRange {
  const char* start;
  uint64_t bytes = 0;
  uint16_t tag = 0;
  bool has_pages = false;  // which come and go, so that it grows and shrinks
  int32_t device = 0;
  const char* pool = "";  // its name, which lives as long as the pool
  std::vector<HeldPart> parts{};

  // Free parts that touch are one.
  void add(const HeldPart& part) {
    bytes += part.bytes;
    if (part.state == PartState::kFree && !parts.empty() && parts.back().state == PartState::kFree)
      parts.back().bytes += part.bytes;
    else
      parts.push_back(part);
  }
};

}  // namespace plat::pool
