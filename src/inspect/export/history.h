// SPDX-License-Identifier: Apache-2.0
// The memory of a trace as a list of lives, and what else happened, for the viewer and the files that other
// tools open.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "inspect/check/symbols.h"
#include "inspect/model/growth.h"
#include "inspect/model/model.h"
#include "inspect/trace/reader.h"

namespace plat::inspect {

// Texts that come again and again, each once. 0 is the empty one.
class Texts {
 public:
  Texts() { number_of(""); }
  uint32_t number_of(const std::string& text) {
    const auto [found, is_new] = numbers_.emplace(text, static_cast<uint32_t>(list_.size()));
    if (is_new) list_.push_back(text);
    return found->second;
  }
  const std::string& operator[](uint32_t number) const { return list_[number]; }
  const std::vector<std::string>& list() const { return list_; }

 private:
  std::vector<std::string> list_;
  std::unordered_map<std::string, uint32_t> numbers_;
};

// A piece of memory, or of addresses, from its birth to its death. A region that is resized ends, and another
// one begins.
struct Life {
  Kind kind{};
  bool counts = false;    // its bytes are in the totals of plat report
  bool divided = false;   // a pool took it, to hand it out in regions
  bool imported = false;  // the memory is another process's
  int32_t device = 0;
  uint64_t start = 0;  // of a physical handle: where it was mapped first, 0 if nowhere
  uint64_t size = 0;
  uint64_t stream = 0;  // of a block of a stream-ordered pool
  uint32_t name = 0;    // whose it is
  uint32_t label = 0;   // what its owner calls it
  uint32_t pool = 0;    // of a region, a heap and what a pool divides: its domain
  // The heap of a region, the physical handle of a mapping: one more than its place in the list.
  uint32_t parent = 0;
  Site born;
  Site died;  // event 0: it lived to the end

  bool lives() const { return died.event == 0; }
  // What the program was handed, or took from the device.
  bool is_memory() const { return (kind == Kind::Region || takes_device_memory(kind)) && !imported; }
};

struct Step {
  uint32_t life = 0;  // in the list of lives
  bool birth = false;
};

// A range that a copy or a fill read or wrote.
struct Touch {
  uint64_t address = 0, size = 0;
  uint64_t stream = 0;
  bool write = false;
  bool on_stream = false;
  Site site;
};

struct Remark {
  uint32_t text = 0;
  Site site;
};

// From mstxRangeStart to mstxRangeEnd.
struct Span {
  uint32_t text = 0;
  Site site;
  uint64_t end_ns = 0;
  bool ended = false;
};

// A call about a stream: queueing work, or waiting for it, which takes until end_ns.
struct StreamCall {
  uint64_t stream = 0;
  Site site;
  uint64_t end_ns = 0;
};

struct History {
  TraceInfo info;
  Texts texts;
  std::vector<Life> lives;
  std::vector<Step> steps;  // in the order in which they happened
  std::vector<Touch> touches;
  std::vector<Remark> marks;
  std::vector<Span> spans;
  std::vector<StreamCall> stream_calls;
  std::vector<GrowthLine> growth;
  uint64_t events = 0;
  uint64_t failed_calls = 0;
  uint64_t copied_bytes = 0;
  uint64_t end_ns = 0;
  uint64_t live_bytes = 0;  // of what counts, at the end
  uint64_t peak_bytes = 0;
  uint64_t peak_ns = 0;
  size_t peak_steps = 0;  // how many steps it takes to be there

  uint64_t time_of(const Step& step) const {
    const Life& life = lives[step.life];
    return step.birth ? life.born.time_ns : life.died.time_ns;
  }
};

// Builds a history, one event at a time.
class Historian final : public Listener {
 public:
  explicit Historian(TraceInfo info, PlaceOf place_of = {}) : growth_(std::move(place_of)) {
    history_.info = std::move(info);
  }
  Historian(const Historian&) = delete;

  void apply(const Event& event);
  // Up to where it has come; more events may follow.
  History& finish(const TraceInfo& info);

  void event(const Event& event) override;
  void access(const Access& access) override;
  void born(const Object& object) override;
  void died(const Object& object) override;

 private:
  void begin(const Object& object, const Site& site);
  void end(const Object& object, const Site& site);
  Life* life_of(const Object& object);
  void divide(const Object& divider);
  void mapped(const Object& mapping);
  void resized(const Event& event);
  void range_ends(const Event& event);
  void stream_call(const Event& event);

  History history_;
  std::unordered_map<uint64_t, uint32_t> open_;       // those that live, by serial number
  std::unordered_map<uint64_t, size_t> open_ranges_;  // by domain and number
  std::unordered_map<uint32_t, uint64_t> waits_;      // when the wait of a thread began
  GrowthBook growth_;
  Model model_{*this};
};

enum class Needs { DeviceMemory, Anything, Nothing };

// nothing, with the reason, if it is no trace, a part of it cannot be read, or it holds not what is needed:
// what is made of half a trace looks like a whole one to the tools that open it.
std::optional<History> read_history(const Source& source, std::string& problem,
                                    Needs needs = Needs::DeviceMemory, const FrameFilter& filter = {});

}  // namespace plat::inspect
