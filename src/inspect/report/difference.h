// SPDX-License-Identifier: Apache-2.0
// Two runs side by side: what grew from one to the other, by call stack.
#pragma once

#include <string>
#include <vector>

#include "inspect/export/export.h"

namespace plat::inspect {

struct Change {
  std::vector<std::string> frames;  // of the later run, or of the earlier one if it has none; innermost first
  uint64_t before_bytes = 0, before_count = 0;
  uint64_t after_bytes = 0, after_count = 0;

  int64_t grown() const { return static_cast<int64_t>(after_bytes) - static_cast<int64_t>(before_bytes); }
};

// Stacks are the same if their functions and files are: lines move when a program is worked on. What did not
// change is left out; the largest change comes first.
std::vector<Change> changes(const History& before, NamedStacks& before_stacks, const History& after,
                            NamedStacks& after_stacks, Which which);

}  // namespace plat::inspect
