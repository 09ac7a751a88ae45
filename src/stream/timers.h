// SPDX-License-Identifier: Apache-2.0
// Timers: streams to be woken at a time. Guarded by whoever owns them.
#pragma once

#include <map>
#include <memory>
#include <utility>

#include "stream/ids.h"

namespace plat::stream {

class Stream;

class Timers {
 public:
  using ByTime = std::multimap<Clock::time_point, std::shared_ptr<Stream>>;

  void add(std::shared_ptr<Stream> stream, Clock::time_point time) { due_.emplace(time, std::move(stream)); }
  Deadline next() const { return due_.empty() ? Deadline{} : Deadline{due_.begin()->first}; }

  // Those whose time has come. Needs no memory: a stream that is not woken for want of some would sleep on.
  ByTime take(Clock::time_point now) {
    ByTime taken;
    while (!due_.empty() && due_.begin()->first <= now) taken.insert(taken.end(), due_.extract(due_.begin()));
    return taken;
  }

 private:
  ByTime due_;
};

}  // namespace plat::stream
