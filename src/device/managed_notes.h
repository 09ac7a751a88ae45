// SPDX-License-Identifier: Apache-2.0
// ManagedNotes: what a process was told of its managed memory (advice, prefetches), in a small memory file of
// its own, where those who look on from outside find it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "os/file.h"
#include "os/process.h"

namespace plat::device {

// Where pages are wanted, as the calls name it: 0 nowhere, 1 a device, 2 the host, 3 and 4 a NUMA node of it.
struct NotedPlace {
  static constexpr int32_t kMixed = -1;  // other pages, other places
  int32_t type = 0;
  int32_t id = 0;

  bool operator==(const NotedPlace&) const = default;
};

// One block.
struct ManagedNote {
  uint64_t start = 0;
  uint64_t size_bytes = 0;
  uint64_t read_mostly_bytes = 0;
  NotedPlace preferred;
  NotedPlace prefetched;         // last
  uint64_t used_by_devices = 0;  // a bit for each that uses any of its pages
  uint64_t used_by_host = 0;

  bool operator==(const ManagedNote&) const = default;
};

class ManagedNotes {
 public:
  static constexpr size_t kBlocksMax = 256;  // more are not told

  // Makes the file, before there is something to tell for the first time. Without one nobody is told.
  void prepare();
  // Takes no memory: a block is there, or gone, whatever becomes of the notes.
  void tell(std::span<const ManagedNote> blocks);
  // After fork: gives up the file, and nothing else.
  void abandon_in_child() { file_ = {}; }

  // Of another process; nothing if it tells nothing, or does not let us look.
  static std::vector<ManagedNote> of(int32_t pid);

 private:
  struct Layout;

  os::Fd file_;
  os::ProcessIdentity self_;
};

}  // namespace plat::device
