// SPDX-License-Identifier: Apache-2.0
// The memory of a trace as a list of lives, for the files that other tools open.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "inspect/model/model.h"
#include "inspect/trace/reader.h"

namespace plat::inspect {

// A piece of memory from its birth to its death. A region that is resized ends, and another one begins.
struct Life {
  Kind kind{};
  uint64_t start = 0;  // of a physical handle: where it was mapped first, 0 if nowhere
  uint64_t size = 0;
  int32_t device = 0;
  uint64_t stream = 0;  // of a block of a stream-ordered pool
  std::string name;     // whose it is
  Site born;
  Site died;             // event 0: it lived to the end
  bool counts = false;   // its bytes are in the totals of plat report
  bool divided = false;  // a pool took it, to hand it out in regions

  bool lives() const { return died.event == 0; }
};

struct Step {
  uint32_t life = 0;  // in the list of lives
  bool birth = false;
};

struct History {
  TraceInfo info;
  std::vector<Life> lives;
  std::vector<Step> steps;  // in the order in which they happened
  uint64_t end_ns = 0;
  uint64_t peak_bytes = 0;  // of what counts
  size_t peak_steps = 0;    // how many steps it takes to be there

  uint64_t time_of(const Step& step) const {
    const Life& life = lives[step.life];
    return step.birth ? life.born.time_ns : life.died.time_ns;
  }
};

// nothing, with the reason, if it is no trace, a part of it cannot be read, or it holds no allocation: what
// is made of half a trace looks like a whole one to the tools that open it.
std::optional<History> read_history(const Source& source, std::string& problem);

}  // namespace plat::inspect
