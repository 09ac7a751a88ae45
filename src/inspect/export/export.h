// SPDX-License-Identifier: Apache-2.0
// The files that other tools open, each from the history of one trace, whole and in memory.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "inspect/export/history.h"
#include "inspect/export/named_stacks.h"

namespace plat::inspect {

// Which memory a flame graph is about, and what makes a bar wide.
enum class Which { AtPeak, AtEnd, Allocated };
enum class Weight { Bytes, Count };

// Weights by stack, the numbers of its frames innermost first.
using Weights = std::map<std::vector<uint32_t>, uint64_t>;
Weights weigh(const History& history, NamedStacks& stacks, Which which, Weight weight);

// One line a stack, "main;step 4096", outermost first: flamegraph.pl, inferno, speedscope.
std::string to_folded(const History& history, NamedStacks& stacks, Which which, Weight weight);
// JSON of speedscope.app, one profile for each of the flame graphs that there are.
std::string to_speedscope(const History& history, NamedStacks& stacks);
// PyTorch's memory snapshot, a pickle: every block that the program was handed, in a segment of its own.
std::string to_snapshot(const History& history, NamedStacks& stacks);
// The text of heaptrack, which heaptrack_gui and heaptrack_print read.
std::string to_heaptrack(const History& history, NamedStacks& stacks);

// Track events for ui.perfetto.dev.
std::string to_perfetto(const History& history, NamedStacks& stacks);

// A database of msmemscope for MindStudio Insight. Throws where this was built without SQLite.
std::string to_memscope(const History& history, NamedStacks& stacks);

}  // namespace plat::inspect
