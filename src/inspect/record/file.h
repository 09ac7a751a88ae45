// SPDX-License-Identifier: Apache-2.0
// The trace file from the writer's side: chunks on demand, each mapped by itself.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "inspect/record/own_file.h"
#include "inspect/record/settings.h"
#include "inspect/trace/format.h"

namespace plat::inspect {

class File {
 public:
  // Creates the file and writes its header. False, with a line on stderr, when that fails: then nothing is
  // recorded, and the program goes on as without us.
  bool create(const Settings& settings);

  // A fresh chunk, or nullptr when the file has reached its limit, the disk is full, or the program has taken
  // the file from us. Room on the disk is taken first: a store into a mapped hole of a full disk would be a
  // SIGBUS in somebody else's program.
  ChunkHeader* claim();
  // One that a thread left with room in it; nullptr if there is none.
  ChunkHeader* claim_left();
  // For the next thread.
  void leave(ChunkHeader* chunk);
  // It is full.
  static void close(ChunkHeader* chunk);

  // Nothing is written any more; chunks that threads still hold are theirs to close.
  void end();
  // In a forked child, which has the parent's file open and nothing to do with it.
  void leave_to_parent() {
    header_ = nullptr;  // not mapped there
    fresh_ = nullptr;
    file_.drop();
  }

  // Somebody else may make the file shorter while it is written: then pages of ours are beyond its end, and a
  // store to one is a SIGBUS in somebody else's program. In the handler of it: puts memory there that is
  // nobody's file if it was ours, in `chunk` or elsewhere, and says once that events are lost.
  bool survive_cut(const void* address, const ChunkHeader* chunk);

  void lost_one() {
    if (header_ != nullptr) header_->lost.fetch_add(1, std::memory_order_relaxed);
  }

 private:
  ChunkHeader* map_chunk(uint64_t index);
  bool was_cut(int fd, uint64_t chunks);
  void say_cut();

  std::mutex mutex_;
  FileHeader* header_ = nullptr;
  const void* fresh_ = nullptr;  // a chunk that is no thread's yet
  std::atomic<bool> cut_{false};
  OwnFile file_;
  uint64_t chunks_ = 0;
  uint64_t chunks_max_ = 0;
  static constexpr uint32_t kLeftMax = 256;  // beyond that a chunk stays half empty
  ChunkHeader* left_[kLeftMax] = {};
  uint32_t left_count_ = 0;
};

}  // namespace plat::inspect
