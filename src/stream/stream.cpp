// SPDX-License-Identifier: Apache-2.0
#include "stream/stream.h"

#include <cxxabi.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "device/fault.h"
#include "os/uncancelled.h"
#include "rules/rules.h"
#include "stream/client_code.h"
#include "stream/report.h"
#include "stream/scheduler.h"

namespace plat::stream {
namespace {

// A value that a poll waits for changes soon or not for a while: ask often at first, then less.
constexpr Clock::duration kPollPauseMin = std::chrono::microseconds(20);
constexpr Clock::duration kPollPauseMax = std::chrono::milliseconds(2);
// About 20 microseconds: longer than the gap between two calls of a busy client, shorter than a sleep and a
// wake-up.
constexpr int kLingerLooks = 32;
constexpr int kRestsPerLook = 12;

// The streams whose work the calling thread runs, innermost first. More than one when client code in an eager
// or seeded stream waits for another stream.
struct Frame {
  const Stream* stream;
  Frame* outer;
};
[[gnu::tls_model("initial-exec")]] constinit thread_local Frame* t_frame = nullptr;

// What a fault plan puts in front of work: the stream stands still, from when it gets here.
struct Delay {
  Clock::duration length;
  Clock::time_point end{};

  Result<bool> operator()() {
    const auto now = Clock::now();
    if (end == Clock::time_point{}) end = now + length;
    return now >= end;
  }
};

}  // namespace

Error FailurePolicy::error() const {
  std::lock_guard lock(mutex_);
  return error_.value_or(Error{});
}

void FailurePolicy::note(const Error& error) {
  if (!stops()) return;
  {
    std::lock_guard lock(mutex_);
    if (error_) return;
    error_ = error;
    failed_.store(true, std::memory_order_release);
  }
  // Streams of the context that wait for something would wait for ever.
  if (on_failure_) on_failure_();
}

Stream::Stream(const StreamTraits& traits, Scheduler& scheduler, std::shared_ptr<FailurePolicy> failures)
    : traits_(traits), scheduler_(scheduler), failures_(std::move(failures)) {}

template <class Step>
Result<Position> Stream::push(Step&& step) {
  if (failures_->failed()) [[unlikely]]
    return forward(failures_->error());
  Position position = 0;
  bool start = false;
  {
    std::lock_guard lock(mutex_);
    if (closed_) return fail(RuleId::StreamHandle, "stream", "the stream is being destroyed");
    position = given_.load(std::memory_order_relaxed) + 1;
    if (fault::armed()) [[unlikely]]
      if (const auto delay = fault::take_delay()) {
        pending_.push(Poll(Delay{*delay}));
        ++position;
      }
    pending_.push(std::forward<Step>(step));
    given_.store(position, std::memory_order_release);
    if (state_ == State::Idle) {
      state_ = State::Queued;
      start = true;
    }
  }
  if (start) scheduler_.ready(shared_from_this());
  return position;
}

template Result<Position> Stream::push(NoStep&&);
template Result<Position> Stream::push(Task&&);
template Result<Position> Stream::push(HostCall&&);
template Result<Position> Stream::push(Poll&&);
template Result<Position> Stream::push(RecordStep&&);
template Result<Position> Stream::push(WaitStep&&);
template Result<Position> Stream::push(CallbackStep&&);

std::optional<Error> Stream::take_error() {
  if (failures_->failed()) return failures_->error();
  std::lock_guard lock(mutex_);
  return std::exchange(error_, std::nullopt);
}

void Stream::close() {
  std::lock_guard lock(mutex_);
  closed_ = true;
}

void Stream::discard() {
  discards_.store(true);
  wake();
  // Code of the client's may block for as long as it likes; it is not waited for, and nothing of ours follows
  // it.
  if (!runs_here())
    scheduler_.wait(
        gate_, [this] { return is_complete() || in_host_code_.load(); }, std::nullopt);
}

SharedHistory Stream::history() const {
  std::lock_guard lock(mutex_);
  return history_;
}

void Stream::wake() {
  {
    std::lock_guard lock(mutex_);
    if (state_ == State::Running) woken_ = true;
    if (state_ != State::Parked) return;
    state_ = State::Queued;
  }
  scheduler_.ready(shared_from_this());
}

bool Stream::runs_here() const {
  for (const Frame* frame = t_frame; frame; frame = frame->outer) {
    if (frame->stream == this) return true;
  }
  return false;
}

Stream::Turn Stream::run(size_t items_max) {
  const os::Uncancelled whole;  // this may be a thread of the client's
  {
    std::lock_guard lock(mutex_);
    state_ = State::Running;
  }
  Frame frame{this, t_frame};
  t_frame = &frame;
  // Code of the client's may end the thread (pthread_exit); the stream goes on in another one.
  struct Handover {
    ~Handover() {
      if (stream == nullptr) return;
      t_frame = t_frame->outer;
      stream->finish_item();
      {
        std::lock_guard lock(stream->mutex_);
        stream->state_ = State::Queued;
      }
      stream->scheduler_.ready(stream->shared_from_this());
    }
    Stream* stream;
  } handover{this};
  Turn turn = Turn::Idle;
  for (size_t items = 0;;) {
    if (batch_.empty() && !refill()) break;
    if (items == items_max) {
      std::lock_guard lock(mutex_);
      state_ = State::Queued;
      turn = Turn::More;
      break;
    }
    if (try_step(batch_.front()) == Progress::Done) {
      finish_item();
      ++items;
      continue;
    }
    std::lock_guard lock(mutex_);
    if (std::exchange(woken_, false)) continue;
    state_ = State::Parked;
    turn = Turn::Parked;
    break;
  }
  handover.stream = nullptr;
  t_frame = frame.outer;
  return turn;
}

void Stream::finish_item() {
  batch_.pop();  // Before it counts as complete: what it held is released by then.
  completed_.store(++done_);
  gate_.notify();
}

// The next batch; false, and the stream is idle, when there is nothing.
bool Stream::refill() {
  if (given_.load(std::memory_order_relaxed) == done_ && scheduler_.may_linger()) linger();
  std::lock_guard lock(mutex_);
  woken_ = false;
  if (pending_.empty()) {
    state_ = State::Idle;
    return false;
  }
  batch_.take(pending_);
  return true;
}

// Staying a moment spares a client that queues one thing after another a wake-up for each. It looks rarely,
// because each look takes the line from the client that is about to write to it; unless somebody waits.
void Stream::linger() const {
  for (int look = 0; look < kLingerLooks; ++look) {
    if (given_.load(std::memory_order_relaxed) != done_ || !scheduler_.may_linger()) return;
    relax();
    for (int rest = 1; rest < kRestsPerLook && !gate_.is_watched(); ++rest) relax();
  }
}

// Whatever goes wrong inside a step is an error of the stream, and the step is over.
Stream::Progress Stream::try_step(Item& item) {
  try {
    return step(item);
  } catch (const abi::__forced_unwind&) {
    throw;  // The thread ends, and nothing may stop that.
  } catch (const std::exception& error) {
    note(Error{RuleId::DeviceInternal, "stream", fmt::format("exception: {}", error.what())});
  } catch (...) {
    note(Error{RuleId::DeviceInternal, "stream", "unknown exception"});
  }
  return Progress::Done;
}

Stream::Progress Stream::step(Item& item) {
  Progress progress = Progress::Done;
  if (discards_.load() || failures_->failed()) [[unlikely]] {
    skip(item);
  } else if (auto* task = std::get_if<Task>(&item)) {
    if (auto result = (*task)(); !result) [[unlikely]]
      note(std::move(result).error());
  } else if (auto* record = std::get_if<RecordStep>(&item)) {
    record->mark->complete(Clock::now());
  } else if (auto* call = std::get_if<HostCall>(&item)) {
    step_host(*call);
  } else if (auto* wait = std::get_if<WaitStep>(&item)) {
    progress = step_wait(*wait);
  } else if (auto* poll = std::get_if<Poll>(&item)) {
    progress = step_poll(*poll);
  } else if (auto* callback = std::get_if<CallbackStep>(&item)) {
    progress = step_callback(*callback);
  }
  return progress;
}

void Stream::step_host(const HostCall& call) {
  // Claimed before discards_ is read again: discard() sets that first and then looks here.
  in_host_code_.store(true);
  const struct Leave {
    ~Leave() { in_host_code.store(false); }
    std::atomic<bool>& in_host_code;
  } leave{in_host_code_};
  if (discards_.load()) return;
  scheduler_.enter_host_code();
  const struct LeaveHostCode {
    ~LeaveHostCode() { scheduler.leave_host_code(); }
    Scheduler& scheduler;
  } leave_host_code{scheduler_};
  if (auto returned = call_client(call, "host function", [this](Error error) { note(std::move(error)); });
      !returned)
    note(std::move(returned).error());
}

Stream::Progress Stream::step_poll(Poll& poll) {
  const Clock::duration before = std::exchange(poll_pause_, {});
  Result<bool> result = poll();
  if (!result) {
    note(std::move(result).error());
    return Progress::Done;
  }
  if (*result) return Progress::Done;
  poll_pause_ = before == Clock::duration{} ? kPollPauseMin : std::min(before * 2, kPollPauseMax);
  scheduler_.wake_at(shared_from_this(), Clock::now() + poll_pause_);
  return Progress::Wait;
}

Stream::Progress Stream::step_wait(WaitStep& step) {
  if (!step.registered && !step.mark->done()) {
    step.registered = step.mark->add_waiter(shared_from_this());
    if (step.registered && step.timeout != Clock::duration{}) {
      step.deadline = Clock::now() + step.timeout;
      scheduler_.wake_at(shared_from_this(), step.deadline);
    }
  }
  if (!step.mark->done()) {
    if (step.timeout == Clock::duration{} || Clock::now() < step.deadline) return Progress::Wait;
    note(Error{RuleId::StreamWaitTimeout, "event",
               fmt::format("the event was not recorded and reached within {} s (queued by "
                           "aclrtStreamWaitEventWithTimeout)",
                           std::chrono::duration_cast<std::chrono::seconds>(step.timeout).count())});
  }
  if (step.pending) step.pending->fetch_sub(1);
  return Progress::Done;
}

Stream::Progress Stream::step_callback(CallbackStep& step) {
  if (!step.state) {
    step.state = std::make_shared<std::atomic<CallbackState>>(CallbackState::Queued);
    step.reporter->post(DueCallback{step.call, step.state, step.blocks ? shared_from_this() : nullptr});
    if (!step.blocks) return Progress::Done;
  }
  switch (step.state->load()) {
    case CallbackState::Queued:
      return Progress::Wait;
    case CallbackState::Lost:
      note(Error{RuleId::CallbackLost, "stream",
                 "the stream's thread was unsubscribed before it ran the callback (queued by "
                 "aclrtLaunchCallback)"});
      break;
    case CallbackState::Ran:
      break;
  }
  return Progress::Done;
}

// Others may wait for what a dropped item would have done.
void Stream::skip(Item& item) {
  if (auto* record = std::get_if<RecordStep>(&item)) record->mark->complete({});
  if (auto* wait = std::get_if<WaitStep>(&item); wait && wait->pending) wait->pending->fetch_sub(1);
}

void Stream::note(Error error) {
  // It surfaces at another call, which may have waited for many streams.
  error.detail = traits_.is_default
                     ? fmt::format("in the default stream of device {}, {}", traits_.device, error.detail)
                     : fmt::format("in stream {:#x}, {}", traits_.id.value, error.detail);
  failures_->note(error);
  std::lock_guard lock(mutex_);
  if (!error_) error_ = std::move(error);
}

}  // namespace plat::stream
