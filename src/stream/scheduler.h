// SPDX-License-Identifier: Apache-2.0
// Scheduler: decides which stream runs next, and in which thread.
//
// Three kinds: a pool of threads (the default), everything inside the call that queues it (eager), and one
// thing at a time chosen by a seeded generator (seeded). The last two make runs repeatable.
#pragma once

#include <functional>
#include <memory>

#include "stream/ids.h"
#include "stream/waiting_room.h"

namespace plat::stream {

class Stream;

class Scheduler {
 public:
  virtual ~Scheduler() = default;

  // The stream has become runnable, and is given here once until it has run.
  virtual void ready(std::shared_ptr<Stream> stream) = 0;
  // Wakes the stream at a time, to look again at what it waits for.
  virtual void wake_at(std::shared_ptr<Stream> stream, Clock::time_point time) = 0;
  // A host thread has queued or asked something: a chance to run work in it. Never called with a lock held.
  virtual void drive() {}
  // A host thread has asked how far a stream is, and may do so until the stream gets there.
  virtual void drive_for_query() { drive(); }
  // Waits in a host thread. False when the deadline passed first.
  virtual bool wait(WaitingRoom& room, const std::function<bool()>& condition, Deadline deadline) = 0;
  // Around code of the client's, which may block for as long as it likes.
  virtual void enter_host_code() {}
  virtual void leave_host_code() {}
  // Whether other threads than its own may run what takes no time.
  virtual bool lets_others_run() const { return false; }
  // Whether a thread that ran out of work should look for more for a moment before it sleeps.
  virtual bool may_linger() const { return false; }
};

// workers: how many threads run work that does not block; more exist only while client code blocks some.
std::unique_ptr<Scheduler> make_pool_scheduler(unsigned workers);
std::unique_ptr<Scheduler> make_eager_scheduler();
std::unique_ptr<Scheduler> make_seeded_scheduler(uint64_t seed);

}  // namespace plat::stream
