// SPDX-License-Identifier: Apache-2.0
// Timers: streams to be woken at a time. Guarded by whoever owns them.
#pragma once

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "stream/ids.h"

namespace plat::stream {

class Stream;

class Timers {
 public:
  void add(std::shared_ptr<Stream> stream, Clock::time_point time) { due_.emplace(time, std::move(stream)); }
  Deadline next() const { return due_.empty() ? Deadline{} : Deadline{due_.begin()->first}; }

  // Those whose time has come.
  std::vector<std::shared_ptr<Stream>> take(Clock::time_point now) {
    std::vector<std::shared_ptr<Stream>> streams;
    while (!due_.empty() && due_.begin()->first <= now)
      streams.push_back(std::move(due_.extract(due_.begin()).mapped()));
    return streams;
  }

 private:
  std::multimap<Clock::time_point, std::shared_ptr<Stream>> due_;
};

}  // namespace plat::stream
