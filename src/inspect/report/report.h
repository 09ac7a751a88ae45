// SPDX-License-Identifier: Apache-2.0
// What happened to memory: who held it at the peak, how it went over time, what came and went, and the holes.
#pragma once

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "inspect/check/symbols.h"
#include "inspect/model/growth.h"
#include "inspect/model/model.h"
#include "inspect/trace/reader.h"

namespace plat::inspect {

// Whose bytes are counted together. What pools hand out lies in memory that somebody holds, and addresses are
// no memory: added up with it, they would count twice, or count what is not there.
enum class Group : uint8_t {
  Device,     // the memory that the peak is about
  Pools,      // blocks of pools: parts of the memory above
  Host,       // memory of the host
  Other,      // memory of other processes, and managed memory
  Addresses,  // reservations, mappings and heaps
};
inline constexpr size_t kGroups = 5;
// "device memory"
const char* name_of(Group group);

// Memory of one kind from one place; for regions the name of the pool says whose.
struct Owner {
  Kind kind{};
  Group group{};
  std::string name;
  Site site;  // the first time
  uint64_t live_count = 0, live_bytes = 0;
  uint64_t births = 0, born_bytes = 0;
  uint64_t temporary = 0;  // went before anything else came
};

// How a range that is cut up is used: a reservation by mappings, the memory of a heap by regions. A heap may
// be registered over far more addresses than there is memory behind them.
struct Holes {
  Kind kind{};  // heap or reservation
  std::string name;
  uint64_t start = 0, size = 0;
  uint64_t held_bytes = 0;  // what there is to use: addresses, or memory where that is known
  uint64_t used_bytes = 0;
  uint64_t largest_free = 0;
  uint64_t free_ranges = 0;

  uint64_t free_bytes() const { return held_bytes - std::min(held_bytes, used_bytes); }
  // The part of the free bytes that the largest free range does not have.
  double share() const {
    return free_bytes() == 0 ? 0
                             : 1.0 - static_cast<double>(largest_free) / static_cast<double>(free_bytes());
  }
};

struct KindTotals {
  uint64_t births = 0, live = 0, live_bytes = 0, peak_bytes = 0;
};

struct Mark {
  std::string text;
  uint64_t time_ns = 0;
  uint64_t live_bytes = 0;
};

struct Report {
  TraceInfo info;
  uint64_t events = 0;
  uint64_t failed_calls = 0;
  uint64_t end_ns = 0;
  uint64_t copied_bytes = 0;
  std::array<KindTotals, kKinds> kinds{};
  uint64_t peak_bytes = 0, peak_ns = 0, live_bytes = 0;
  std::vector<std::pair<uint64_t, uint64_t>> timeline;  // time, device memory
  std::vector<Owner> at_peak;                           // group by group, largest first
  std::vector<Owner> at_end;                            // the same of what is left
  std::vector<Owner> owners;                            // most births first
  std::vector<Holes> holes_at_peak, holes_at_end;
  std::vector<Mark> marks;
  std::vector<GrowthLine> growth;  // what rose at some mark; most rises first
};

// Of a trace that is being written: each update goes on where the last one ended. What it takes depends on
// what has come since. Nobody looks around at the peak, because it may be still to come.
class LiveReport {
 public:
  // nullptr, with the reason, if it is no trace.
  static std::unique_ptr<LiveReport> open(const Source& source, std::string& problem,
                                          const FrameFilter& filter = {});
  virtual ~LiveReport() = default;
  virtual const Report& update() = 0;
};

// Reads the trace twice: once to find the peak, once to look around there. nothing, with the reason, if it is
// no trace.
std::optional<Report> make_report(const Source& source, std::string& problem, const FrameFilter& filter = {});

}  // namespace plat::inspect
