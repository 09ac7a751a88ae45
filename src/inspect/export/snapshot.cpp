// SPDX-License-Identifier: Apache-2.0
// PyTorch's memory snapshot. Its readers go backwards from the end, so every step must have an exact inverse:
// each block stands in a segment of its own, and no two that live together overlap.
#include <algorithm>

#include "base/pickle.h"
#include "inspect/export/export.h"
#include "inspect/model/range_map.h"

namespace plat::inspect {

namespace {

// Blocks without an address of their own, such as physical memory that is mapped nowhere, and those whose
// addresses somebody else has too, are put here. Readers keep numbers below 2^53.
constexpr uint64_t kUnplaced = uint64_t{1} << 52;
constexpr uint64_t kApart = uint64_t{1} << 21;
constexpr int32_t kDevicesMax = 1024;              // more are a mistake of the trace
constexpr uint64_t kSmallMax = uint64_t{1} << 20;  // what PyTorch calls small

class Addresses {
 public:
  uint64_t take(const Life& life) {
    RangeMap<char>& taken = taken_[life.device];
    uint64_t start = life.start;
    bool is_free = start != 0 && start < kUnplaced && life.size <= kUnplaced - start;
    if (is_free) taken.for_each(start, start + life.size, [&](uint64_t, uint64_t, char) { is_free = false; });
    if (!is_free) {
      start = next_;
      next_ += (life.size + kApart - 1) / kApart * kApart;
    }
    taken.assign(start, start + life.size, 1);
    return start;
  }
  void give_back(const Life& life, uint64_t start) { taken_[life.device].erase(start, start + life.size); }

 private:
  std::map<int32_t, RangeMap<char>> taken_;
  uint64_t next_ = kUnplaced;
};

class SnapshotWriter {
 public:
  SnapshotWriter(const History& history, NamedStacks& stacks)
      : history_(history), stacks_(stacks), addresses_(history.lives.size()) {}

  std::string write() {
    place();
    pickle_.begin_dict();
    pickle_.text("device_traces");
    write_traces();
    pickle_.text("segments");
    write_segments();
    pickle_.end_dict();
    return pickle_.finish();
  }

 private:
  // What the program was handed: not what a pool took to divide, because its regions are there.
  static bool is_block(const Life& life) {
    return life.is_memory() && !life.divided && life.size > 0 && life.size < kUnplaced && life.device >= 0 &&
           life.device < kDevicesMax;
  }

  void place() {
    Addresses addresses;
    for (const Step& step : history_.steps) {
      const Life& life = history_.lives[step.life];
      if (!is_block(life)) continue;
      if (step.birth) {
        addresses_[step.life] = addresses.take(life);
      } else {
        addresses.give_back(life, addresses_[step.life]);
      }
      steps_[life.device].push_back(step);
    }
  }

  void write_traces() {
    const int32_t last = steps_.empty() ? 0 : steps_.rbegin()->first;
    pickle_.begin_list();
    for (int32_t device = 0; device <= last; ++device) {
      pickle_.begin_list();
      for (const Step& step : steps_[device]) {
        if (step.birth) {
          write_entry("segment_alloc", step);
          write_entry("alloc", step);
        } else {
          write_entry("free_requested", step);
          write_entry("free_completed", step);
          write_entry("segment_free", step);
        }
      }
      pickle_.end_list();
    }
    pickle_.end_list();
  }

  void write_entry(const char* action, const Step& step) {
    const Life& life = history_.lives[step.life];
    pickle_.begin_dict();
    pickle_.field("action", action);
    pickle_.field("addr", addresses_[step.life]);
    pickle_.field("size", life.size);
    pickle_.field("stream", life.stream);
    pickle_.text("pool_id");
    pickle_.pair(0, 0);
    pickle_.field("time_us", (history_.info.start_realtime_ns + history_.time_of(step)) / 1000);
    write_owner(life);
    write_frames(step.birth ? life.born : life.died);
    pickle_.end_dict();
  }

  void write_owner(const Life& life) {
    const std::string& name = history_.texts[life.name];
    pickle_.field("user_metadata", name.empty() ? name_of(life.kind) : name_of(life.kind) + (" of " + name));
  }

  void write_frames(const Site& site) {
    pickle_.text("frames");
    const std::vector<uint32_t>& frames = stacks_.of(site);
    const auto found = written_.find(frames);
    if (found != written_.end()) return pickle_.again(found->second);
    pickle_.begin_list();
    for (const uint32_t number : frames) {
      const NamedFrame& frame = stacks_.frame(number);
      pickle_.begin_dict();
      pickle_.field("name", frame.name);
      pickle_.field("filename", frame.file);
      pickle_.field("line", static_cast<uint64_t>(std::max(frame.line, 0)));
      pickle_.end_dict();
    }
    pickle_.end_list();
    written_.emplace(frames, pickle_.remember());
  }

  // What is left at the end, by device and address.
  void write_segments() {
    std::map<std::pair<int32_t, uint64_t>, size_t> left;
    for (size_t i = 0; i < history_.lives.size(); ++i) {
      const Life& life = history_.lives[i];
      if (is_block(life) && life.lives()) left[{life.device, addresses_[i]}] = i;
    }
    pickle_.begin_list();
    for (const auto& [place, index] : left) write_segment(history_.lives[index], place.second);
    pickle_.end_list();
  }

  void write_segment(const Life& life, uint64_t address) {
    pickle_.begin_dict();
    pickle_.field("device", static_cast<uint64_t>(life.device));
    pickle_.field("address", address);
    for (const char* size : {"total_size", "allocated_size", "active_size", "requested_size"})
      pickle_.field(size, life.size);
    pickle_.field("stream", life.stream);
    pickle_.field("segment_type", life.size > kSmallMax ? "large" : "small");
    pickle_.text("segment_pool_id");
    pickle_.pair(0, 0);
    pickle_.text("is_expandable");
    pickle_.truth(false);
    write_frames(life.born);
    pickle_.text("blocks");
    pickle_.begin_list();
    pickle_.begin_dict();
    pickle_.field("address", address);
    pickle_.field("size", life.size);
    pickle_.field("requested_size", life.size);
    pickle_.field("state", "active_allocated");
    write_owner(life);
    write_frames(life.born);
    pickle_.end_dict();
    pickle_.end_list();
    pickle_.end_dict();
  }

  const History& history_;
  NamedStacks& stacks_;
  std::vector<uint64_t> addresses_;  // by life
  std::map<int32_t, std::vector<Step>> steps_;
  std::map<std::vector<uint32_t>, uint32_t> written_;  // stacks, by what the pickle remembers them as
  Pickle pickle_;
};

}  // namespace

std::string to_snapshot(const History& history, NamedStacks& stacks) {
  return SnapshotWriter(history, stacks).write();
}

}  // namespace plat::inspect
