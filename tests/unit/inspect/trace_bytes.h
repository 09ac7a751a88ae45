// SPDX-License-Identifier: Apache-2.0
// A trace made by hand, for tests of what reads it.
#pragma once

#include <cstring>
#include <string_view>
#include <vector>

#include "inspect/trace/coding.h"
#include "inspect/trace/format.h"
#include "inspect/trace/ops.h"

namespace plat::inspect::test {

class ChunkBytes {
 public:
  // Fields as they stand in the file: the caller does the differences.
  ChunkBytes& event(Op op, uint64_t time, const std::vector<uint64_t>& words, std::string_view text = {},
                    bool with_text = false) {
    put(static_cast<uint8_t>(op));
    put(0);
    varint(time);
    for (const uint64_t word : words) varint(word);
    if (with_text) {
      varint(text.size());
      bytes_.insert(bytes_.end(), text.begin(), text.end());
    }
    return *this;
  }
  ChunkBytes& thread(uint64_t id) { return event(Op::Thread, 0, {id}, "t", true); }
  ChunkBytes& raw(const std::vector<uint8_t>& more) {
    bytes_.insert(bytes_.end(), more.begin(), more.end());
    return *this;
  }
  const std::vector<uint8_t>& bytes() const { return bytes_; }

 private:
  void put(uint8_t byte) { bytes_.push_back(byte); }
  void varint(uint64_t value) {
    uint8_t space[kVarintMax];
    bytes_.insert(bytes_.end(), space, put_varint(space, value));
  }
  std::vector<uint8_t> bytes_;
};

inline std::vector<uint8_t> trace_of(const std::vector<ChunkBytes>& chunks) {
  std::vector<uint8_t> file(kHeaderBytes);
  const auto store32 = [&](size_t at, uint32_t value) {
    std::memcpy(file.data() + at, &value, sizeof value);
  };
  std::memcpy(file.data(), kMagic, sizeof kMagic);
  store32(8, kVersion);
  store32(12, kChunkBytes);
  store32(16, 42);  // pid
  for (const ChunkBytes& chunk : chunks) {
    const size_t at = file.size();
    file.resize(at + kChunkBytes);
    store32(at, kChunkMagic);
    store32(at + 4, static_cast<uint32_t>(chunk.bytes().size()));
    std::memcpy(file.data() + at + sizeof(ChunkHeader), chunk.bytes().data(), chunk.bytes().size());
  }
  return file;
}

}  // namespace plat::inspect::test
