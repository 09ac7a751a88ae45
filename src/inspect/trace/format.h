// SPDX-License-Identifier: Apache-2.0
// The trace file: a header, then chunks of one size.
//
//   header 4096 | chunk 65536 | chunk 65536 | ...
//
// A chunk belongs to one thread at a time, which writes events into the mapped file and then raises `used`.
// So the file is right at every instruction: a process that is killed loses the event it was writing. A chunk
// that a thread leaves goes on with the next thread, which says so first (Op::Thread).
//
// An event: op, flags, time since the event before it, result, stack, and the fields that ops.inc names.
// Differences start from 0 in every chunk and at every Op::Thread, which itself has no time. Times within a
// chunk never go back.
#pragma once

#include <atomic>
#include <cstdint>

namespace plat::inspect {

inline constexpr char kMagic[8] = {'P', 'L', 'A', 'T', 'T', 'R', 'C', '\n'};
inline constexpr uint32_t kVersion = 2;
inline constexpr uint32_t kHeaderBytes = 4096;
inline constexpr uint32_t kChunkBytes = 65536;
inline constexpr uint32_t kChunkMagic = 0x6b6e6843;
inline constexpr uint32_t kProgramBytes = 1024;
inline constexpr uint32_t kTextMax = 1023;  // longer texts are cut
inline constexpr uint32_t kFramesMax = 64;
inline constexpr uint64_t kPythonFrames = uint64_t{0xffff}
                                          << 48;  // from here on: no code, but a line of Python

// Flags of an event.
inline constexpr uint8_t kHasResult = 1;
inline constexpr uint8_t kHasStack = 2;
inline constexpr uint8_t kBegins = 4;  // the call has only begun; the event of its end follows

struct FileHeader {
  char magic[8];
  uint32_t version;
  uint32_t chunk_bytes;
  uint32_t pid;
  uint32_t parent;
  uint64_t start_ticks;
  uint64_t start_ns;           // on the monotonic clock
  uint64_t start_realtime_ns;  // on the clock on the wall
  std::atomic<uint64_t> lost;  // events that found no room
  char program[kProgramBytes];
};
static_assert(sizeof(FileHeader) <= kHeaderBytes);

struct ChunkHeader {
  uint32_t magic;
  std::atomic<uint32_t> used;  // bytes of whole events after this header
  uint64_t ticks;              // both clocks when the chunk was begun
  uint64_t ns;
};
inline constexpr uint32_t kChunkRoom = kChunkBytes - sizeof(ChunkHeader);

}  // namespace plat::inspect
