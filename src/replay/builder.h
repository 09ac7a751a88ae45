// SPDX-License-Identifier: Apache-2.0
// Builder: a trace from whatever names a recording gives its blocks and streams. A name may be used again
// after its free.
#pragma once

#include <algorithm>
#include <string>
#include <unordered_map>

#include "replay/trace.h"

namespace plat::replay {

class Builder {
 public:
  static constexpr uint64_t kLargestBlock = uint64_t{1} << 40;
  static constexpr size_t kMostStreams = 255;  // of one pool

  explicit Builder(Trace& trace) : trace_(trace) {}
  // What follows stands in this line of the file.
  void at_line(uint32_t line) { line_ = line; }
  // False when a block of this name lives.
  bool allocate(uint64_t name, uint64_t bytes, uint64_t stream) {
    bytes = std::max<uint64_t>(bytes, 1);
    if (bytes > kLargestBlock) problem_ = "a block of more than 1 TiB";
    if (!live_.emplace(name, Live{trace_.blocks, bytes}).second) return false;
    trace_.events.push_back(Event{trace_.blocks++, true, bytes, number_of(stream), line_});
    now_ += bytes;
    trace_.peak_live_bytes = std::max(trace_.peak_live_bytes, now_);
    return true;
  }
  // Frees of what was allocated before the recording began are left out.
  void release(uint64_t name, uint64_t stream) {
    auto found = live_.find(name);
    if (found == live_.end()) return;
    trace_.events.push_back(Event{found->second.block, false, found->second.bytes, number_of(stream), line_});
    now_ -= found->second.bytes;
    live_.erase(found);
  }
  // Work on another stream than the block's uses it.
  void use(uint64_t name, uint64_t stream) {
    auto found = live_.find(name);
    if (found != live_.end() && stream != 0)
      trace_.uses.push_back(Use{trace_.events.size(), found->second.block, number_of(stream)});
  }
  // What no replay can take, or nothing.
  const std::string& problem() const { return problem_; }

 private:
  struct Live {
    uint32_t block;
    uint64_t bytes;
  };
  uint32_t number_of(uint64_t stream) {
    if (stream == 0) return 0;
    const auto number = static_cast<uint32_t>(streams_.size() + 1);
    const uint32_t found = streams_.emplace(stream, number).first->second;
    if (streams_.size() > kMostStreams) problem_ = "more than 255 streams";
    trace_.streams = static_cast<uint32_t>(streams_.size());
    return found;
  }
  Trace& trace_;
  std::unordered_map<uint64_t, Live> live_;
  std::unordered_map<uint64_t, uint32_t> streams_;
  uint64_t now_ = 0;
  uint32_t line_ = 0;
  std::string problem_;
};

}  // namespace plat::replay
