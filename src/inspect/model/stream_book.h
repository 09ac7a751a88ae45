// SPDX-License-Identifier: Apache-2.0
// Streams, events, contexts, waiting, and work of the host: what comes before what.
#pragma once

#include <map>

#include "inspect/model/registry.h"

namespace plat::inspect {

class StreamBook {
 public:
  explicit StreamBook(Registry& registry) : registry_(registry) {}

  void apply(const Event& event);
  void forget(const Object& object);

  const Order& order() const { return order_; }
  Order& order() { return order_; }
  // Who does the work of a stream; 0 is the default one of the thread's device.
  uint32_t actor_of(const Event& event, uint64_t stream);
  // The host has waited for all that was given to any stream.
  void wait_for_everything() { order_.join(Order::kHost, order_.everything()); }

  // A stream that waits for a value goes on after the writes to it that were queued before.
  void value_written(uint64_t address, uint32_t actor) {
    value_writes_[address].join(order_.clock_of(actor));
  }
  // Which of the writes lets it go on, one of these or one to come, no trace says.
  void value_awaited(uint64_t address, Position wait) {
    order_.join(wait.actor, value_writes_[address]);
    order_.doubt(wait);
  }
  // The event by which the host function was queued that a thread is running; 0: it runs none.
  uint64_t launch_of_work(uint32_t thread) const;

 private:
  void wait_begins(const Event& event);
  void wait_ends(const Event& event);
  void create(const Event& event, Kind kind, uint64_t handle);
  void forget_stream(uint64_t stream);

  Registry& registry_;
  Order order_;
  std::map<uint64_t, uint32_t> actors_;  // by stream
  std::map<uint64_t, Clock> recorded_;   // by event
  std::map<uint64_t, Clock> notified_;   // by notify
  std::map<uint64_t, Clock> value_writes_;
  struct HostWork {
    Clock before;
    uint64_t launched;
  };
  std::map<uint64_t, HostWork> host_work_;  // queued, by number
  std::map<uint32_t, uint64_t> running_;    // by thread: which event launched it
  std::map<uint32_t, Clock> waits_;         // what a waiting thread waits for
  std::map<uint64_t, int32_t> contexts_;
};

}  // namespace plat::inspect
