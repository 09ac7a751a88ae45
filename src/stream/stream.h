// SPDX-License-Identifier: Apache-2.0
// Stream: one queue of work, run in order by whichever thread its scheduler gives it.
//
// A stream is Idle, Queued (with the scheduler), Running (in exactly one thread) or Parked (until wake()).
// Only the running thread touches the batch it took; everything else is under the mutex or atomic. Lock
// order: event, stream, scheduler; a mark's and a callback thread's lock are never held while another is
// taken.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <variant>

#include "base/result.h"
#include "stream/function.h"
#include "stream/ids.h"
#include "stream/item_list.h"
#include "stream/mark.h"
#include "stream/notify.h"
#include "stream/stream_settings.h"
#include "stream/waiting_room.h"

namespace plat::stream {

class Scheduler;
class CallbackThread;

// Work that runs to its end. An error sticks to the stream and surfaces at its next synchronisation.
using Task = Function<Result<>>;
// Work that may have to wait for the world: true when it is done, false to be asked again later.
using Poll = Function<Result<bool>>;
// It is asked often at first, then less, and after this pause at the latest.
inline constexpr Clock::duration kPollPauseMax = std::chrono::milliseconds(2);

struct HostCall {
  void (*function)(void*);
  void* argument;
};
struct RecordStep {
  std::shared_ptr<Mark> mark;
};
struct WaitStep {
  std::shared_ptr<Mark> mark;
  Clock::duration timeout{};                  // from when the stream gets here; 0: none
  std::shared_ptr<std::atomic<int>> pending;  // of the event: waits that have not completed
  Clock::time_point deadline{};
  bool registered = false;
};
struct NotifyRecordStep {
  std::shared_ptr<Notify> notify;
  Notify::Change change;
  uint32_t value;
};
struct NotifyWaitStep {
  std::shared_ptr<Notify> notify;
  Notify::Awaited awaited;
  uint32_t timeout_s = 0;  // from when the stream gets here; 0: none
  Clock::time_point deadline{};
};
// For a record of another process.
struct RemoteWaitStep {
  std::shared_ptr<HeldPlace> place;
  uint32_t number;
  uint32_t timeout_s = 0;
  std::shared_ptr<std::atomic<int>> pending;  // of the event: waits that have not completed
  Clock::time_point deadline{};
};
enum class CallbackState : int { Queued, Ran, Lost };
struct CallbackStep {
  std::shared_ptr<CallbackThread> server;
  HostCall call;
  bool blocks;
  std::shared_ptr<std::atomic<CallbackState>> state{};  // set once the thread has it
};
// What only takes its place in the order.
struct NoStep {};
using Item = std::variant<NoStep, Task, HostCall, Poll, RecordStep, WaitStep, CallbackStep, NotifyRecordStep,
                          NotifyWaitStep, RemoteWaitStep>;
static_assert(sizeof(Item) == 64);  // one cache line: queues hand items from one thread to another

struct StreamTraits {
  StreamId id;
  ContextId context;
  int device = 0;
  uint32_t priority = 0;  // at first; 0 is the highest, 7 the lowest
  uint32_t flags = 0;
  bool is_default = false;
};

// What the streams of a context share: whether they stop at the first failure, and that failure.
class FailurePolicy {
 public:
  bool stops() const { return stops_.load(); }
  void set_stops() { stops_.store(true); }
  bool failed() const { return failed_.load(std::memory_order_acquire); }
  Error error() const;
  void note(const Error& error);
  // Called once, after the failure that stops the streams. Set before the first stream exists.
  void on_failure(std::function<void()> function) { on_failure_ = std::move(function); }
  // Called for each task that fails, in the thread that ran it, before anybody who waits for it is told.
  using TaskFailed = std::function<void(const StreamTraits&, Position, const Error&)>;
  void on_task_failure(TaskFailed function) { on_task_failure_ = std::move(function); }
  void tell(const StreamTraits& stream, Position task, const Error& error) const {
    if (on_task_failure_) on_task_failure_(stream, task, error);
  }

 private:
  std::atomic<bool> stops_{false};
  std::atomic<bool> failed_{false};
  mutable std::mutex mutex_;  // guards error_
  std::optional<Error> error_;
  std::function<void()> on_failure_;
  TaskFailed on_task_failure_;
};

class Stream : public std::enable_shared_from_this<Stream> {
 public:
  Stream(const StreamTraits& traits, Scheduler& scheduler, std::shared_ptr<FailurePolicy> failures);

  const StreamTraits& traits() const { return traits_; }
  StreamSettings& settings() { return settings_; }
  const StreamSettings& settings() const { return settings_; }
  WaitingRoom& waiting_room() { return waiting_room_; }

  // The item's place. Fails once the stream is closed, or its context has stopped at a failure.
  template <class Step>
  Result<Position> push(Step&& step);
  Position given() const { return given_.load(); }
  Position completed() const { return completed_.load(); }
  bool is_complete() const { return completed() >= given(); }

  // The first error since the last call, or the one that stopped the context.
  std::optional<Error> take_error();

  // No more work is accepted from here on.
  void close();
  // Drops what has not started; marks in it count as reached. Returns when nothing but code of the client's
  // runs any more.
  void discard();

  // Gives up what the stream was given so far, in two steps, so that many streams are aborted at once: from
  // the first to the last no work is accepted, and what has not begun is dropped. The second waits for what
  // runs; false when the deadline passed first. Marks that were dropped are never reached.
  void begin_abort(RuleId why);
  bool wait_aborted(Deadline deadline);
  void end_abort();
  // Ends what waits at the head of the stream; what is queued behind it goes on.
  void stop();
  // Whether what is given is refused at the moment; and how often it was, for those who wait meanwhile.
  bool is_aborting() const { return aborting_.load() > 0; }
  uint64_t aborts() const { return aborts_.load(); }
  Error abort_error() const;

  SharedHistory history() const;
  template <class Done>
  void run_after(const SharedHistory& history, History::Entry place, const Done& done) {
    std::lock_guard lock(mutex_);
    history_ = join(history_, history, place, done);
  }

  // For schedulers. `ready` has been called for the stream and run has not.
  enum class Turn : uint8_t { Idle, Parked, More };
  // Briefly: only what takes no time, without a moment's stay for more.
  enum class Manner : uint8_t { Thorough, Brief };
  Turn run(size_t items_max, Manner manner = Manner::Thorough);
  // Something the stream may wait for has changed. May be called at any time.
  void wake();
  // The same, and what takes no time runs in the calling thread: one that was woken for it should not have to
  // wake another. With no lock held.
  void wake_here();

  // Whether the calling thread runs work of this stream, so that waiting for it would never end.
  bool runs_here() const;

 private:
  friend class ReadyList;
  enum class State : uint8_t { Idle, Queued, Running, Parked };
  enum class Progress : uint8_t { Done, Wait, Again };  // Again: it has not even memory to wait with
  static constexpr const char* kNoMemory = "out of host memory";

  void run_briefly();
  bool refill();
  void finish_item();
  void linger() const;
  Progress step(Item& item);
  Progress try_step(Item& item);
  void step_host(const HostCall& call);
  Progress step_poll(Poll& poll);
  Progress step_wait(WaitStep& step);
  Progress step_callback(CallbackStep& step);
  Progress step_notify(NotifyWaitStep& step);
  Progress step_remote(RemoteWaitStep& step);
  // Looks for a moment whether somebody else gets there, then again; and how long to wait at most.
  template <class Look>
  bool look_for_a_moment(const Look& look) const;
  bool is_over(uint32_t timeout_s, Clock::time_point& deadline);
  void skip(Item& item);
  void lose(Item& item);
  Progress give_up(Item& item);
  void note(Error error);
  bool may_look_again();
  void note_no_memory();
  Result<> check_open() const;

  const StreamTraits traits_;
  StreamSettings settings_;
  Scheduler& scheduler_;
  const std::shared_ptr<FailurePolicy> failures_;
  std::atomic<bool> discards_{false};
  std::atomic<bool> in_host_code_{false};
  std::atomic<Position> abort_until_{0};  // what stands up to there is given up
  std::atomic<Position> stop_at_{0};      // what stands there is given up if it waits
  std::atomic<uint32_t> aborting_{0};     // changed under the mutex
  std::atomic<uint64_t> aborts_{0};
  std::atomic<RuleId> abort_reason_{};

  // Each group on lines of its own: clients that queue, the thread that runs, and those who wait write to one
  // each.
  alignas(64) mutable std::mutex mutex_;  // guards from here to the next group, but for the atomic
  std::atomic<Position> given_{0};
  State state_ = State::Idle;
  bool woken_ = false;  // wake() came while running
  bool closed_ = false;
  ItemList<Item> pending_;
  std::optional<Error> error_;
  bool lacked_memory_ = false;  // for a step, and for an error that says so
  SharedHistory history_;

  // Of the running thread alone, handed over with the state.
  alignas(64) std::atomic<Position> completed_{0};
  Position done_ = 0;  // what completed_ says
  ItemList<Item> batch_;
  bool brief_ = false;
  uint32_t looks_without_memory_ = 0;  // of the item at the head
  Clock::duration poll_pause_{};       // grows while nothing happens

  alignas(64) WaitingRoom waiting_room_;
  std::shared_ptr<Stream> next_ready_;  // the scheduler's, while the stream is queued there
};

}  // namespace plat::stream
