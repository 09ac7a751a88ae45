// SPDX-License-Identifier: Apache-2.0
// The handles that clients hold: numbers, not addresses, so that a stale or foreign one is recognised and
// never followed.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <optional>

namespace plat::stream {

struct ContextId {
  uint64_t value = 0;
  friend constexpr auto operator<=>(ContextId, ContextId) = default;
};

// 0 is the default stream of the calling thread's current context.
struct StreamId {
  uint64_t value = 0;
  friend constexpr auto operator<=>(StreamId, StreamId) = default;
};

struct EventId {
  uint64_t value = 0;
  friend constexpr auto operator<=>(EventId, EventId) = default;
};

struct NotifyId {
  uint64_t value = 0;
  friend constexpr auto operator<=>(NotifyId, NotifyId) = default;
};

template <class Id>
void* handle_of(Id id) {
  return reinterpret_cast<void*>(id.value);
}
template <class Id>
Id id_of(const void* handle) {
  return Id{reinterpret_cast<uint64_t>(handle)};
}

// The n-th thing that a stream was given, from 1. A stream that has completed n has completed all before it.
using Position = uint64_t;

using Clock = std::chrono::steady_clock;
using Deadline = std::optional<Clock::time_point>;  // none: wait for ever

}  // namespace plat::stream
