// SPDX-License-Identifier: Apache-2.0
// Events: all that a process has, and what is done with them.
#pragma once

#include <atomic>
#include <memory>

#include "base/result.h"
#include "stream/event.h"
#include "stream/handle_table.h"
#include "stream/ids.h"
#include "stream/quota.h"
#include "stream/scheduler.h"

namespace plat::stream {

class Stream;
class Streams;

class Events {
 public:
  Events(Streams& streams, uint32_t max);

  void set_max(uint32_t max) { quota_.set_max(max); }
  // How many more the current device has room for.
  Result<uint32_t> available() const;

  Result<EventId> create(EventKind kind, uint32_t flags);
  Result<> destroy(EventId id);
  void destroy_all();
  // No other live event has it.
  Result<uint32_t> number(EventId id) const;
  Result<int> device_of(EventId id) const;

  Result<> record(EventId id, StreamId stream);
  // Fixes the flag that the event is recorded with; another one is refused from then on.
  Result<> choose_record_flag(EventId id, uint32_t flag);
  Result<> reset(EventId id, StreamId stream);
  Result<> wait(StreamId stream, EventId id, int64_t timeout_s = 0);
  // How long streams wait where nobody says for how long; 0: for ever.
  void set_wait_limit(uint32_t seconds) { wait_limit_s_.store(seconds); }
  uint32_t wait_limit_s() const { return wait_limit_s_.load(); }
  Result<> synchronize(EventId id, int32_t timeout_ms = -1);

  // The older query, which events of EventKind::Extended refuse, and the newer one.
  Result<bool> query(EventId id);
  Result<bool> query_status(EventId id);
  Result<bool> query_waits(EventId id);
  Result<float> elapsed_ms(EventId start, EventId end) const;
  Result<uint64_t> timestamp_us(EventId id) const;

  // Between processes: a number for others, and the event of such a number, which is all they need.
  Result<uint64_t> export_bits(EventId id) const;
  Result<EventId> import_bits(uint64_t bits);

 private:
  Result<std::shared_ptr<Event>> find(EventId id) const;
  bool is_reached(const Event& event) const;
  Result<> wait_remote(Stream& stream, Event& event, uint32_t timeout_s);
  Result<> synchronize_remote(Event& event, Deadline deadline, int32_t timeout_ms);

  Streams& streams_;
  Quota quota_;
  std::atomic<uint32_t> wait_limit_s_{0};
  HandleTable<Event> table_{0x45};
};

}  // namespace plat::stream
