// SPDX-License-Identifier: Apache-2.0
// Event: what a client records in a stream, waits for, queries and measures with. Its last record is a Mark.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "stream/board.h"
#include "stream/ids.h"
#include "stream/mark.h"

namespace plat::stream {

// By which call it was created; they differ in what may be done with an event.
enum class EventKind : uint8_t {
  Plain,     // aclrtCreateEvent: everything, and it keeps time
  Flagged,   // aclrtCreateEventWithFlag: what its flags name; a wait before the first record waits for that
             // record
  Extended,  // aclrtCreateEventExWithFlag: the same, but it is never unrecorded: no reset, no wait status, no
             // old query
};

inline constexpr uint32_t kEventSync = 0x1;
inline constexpr uint32_t kEventProgress = 0x2;
inline constexpr uint32_t kEventSyncBlocking = 0x4;  // no public name; accepted like SYNC
inline constexpr uint32_t kEventTimeLine = 0x8;
inline constexpr uint32_t kEventDeviceOnly = 0x10;
inline constexpr uint32_t kEventExternal = 0x20;
inline constexpr uint32_t kEventIpc = 0x40;

struct Event {
  EventId id;
  EventKind kind = EventKind::Plain;
  uint32_t flags = 0;
  int device = 0;
  bool counted = false;  // against the limit of its device

  bool may_be_waited_on() const { return (flags & (kEventSync | kEventSyncBlocking | kEventIpc)) != 0; }
  bool keeps_time() const { return (flags & kEventTimeLine) != 0; }
  bool is_shared() const { return (flags & kEventIpc) != 0; }
  bool is_imported() const { return place && !place->is_own(); }
  bool device_only() const { return (flags & kEventDeviceOnly) != 0; }

  std::atomic<uint32_t> record_flag_plus_one{0};  // 0: no record has chosen one yet

  std::shared_ptr<HeldPlace> place;  // where other processes see it, or where it is theirs

  std::shared_ptr<Mark> last() const {
    std::lock_guard lock(mutex);
    return recorded;
  }

  mutable std::mutex mutex;  // guards the two below; taken before a stream's
  std::shared_ptr<Mark> recorded;
  std::shared_ptr<Mark> expected;  // what waits before the first record wait for

  std::shared_ptr<std::atomic<int>> waits = std::make_shared<std::atomic<int>>(0);  // that have not completed
};

}  // namespace plat::stream
