// SPDX-License-Identifier: Apache-2.0
// What others do to a stream: queue work, abort it, stop it, wake it, close it.
#include "stream/stream.h"

#include <fmt/format.h>

#include <type_traits>
#include <utility>

#include "device/fault.h"
#include "rules/rules.h"
#include "stream/scheduler.h"

namespace plat::stream {
namespace {

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
    : traits_(traits), settings_(traits.priority), scheduler_(scheduler), failures_(std::move(failures)) {}

// Notifies are what processes wake each other with: each thread that would be woken on the way counts. So
// whoever gives one to an idle stream runs it.
template <class Step>
constexpr bool kIsBrief = std::is_same_v<Step, NotifyRecordStep> || std::is_same_v<Step, NotifyWaitStep>;

template <class Step>
Result<Position> Stream::push(Step&& step) {
  if (failures_->failed()) [[unlikely]]
    return forward(failures_->error());
  Position position = 0;
  bool start = false;
  {
    std::lock_guard lock(mutex_);
    if (closed_ || aborting_.load(std::memory_order_relaxed) > 0) [[unlikely]]
      return forward(check_open().error());
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
  if (!start) return position;
  if (kIsBrief<std::remove_cvref_t<Step>> && scheduler_.lets_others_run())
    run_briefly();
  else
    scheduler_.ready(shared_from_this());
  return position;
}

template Result<Position> Stream::push(NoStep&&);
template Result<Position> Stream::push(Task&&);
template Result<Position> Stream::push(HostCall&&);
template Result<Position> Stream::push(Poll&&);
template Result<Position> Stream::push(RecordStep&&);
template Result<Position> Stream::push(WaitStep&&);
template Result<Position> Stream::push(CallbackStep&&);
template Result<Position> Stream::push(NotifyRecordStep&&);
template Result<Position> Stream::push(NotifyWaitStep&&);
template Result<Position> Stream::push(RemoteWaitStep&&);

std::optional<Error> Stream::take_error() {
  if (failures_->failed()) return failures_->error();
  std::lock_guard lock(mutex_);
  if (lacked_memory_ && !error_) error_ = Error{RuleId::DeviceInternal, "stream", kNoMemory};
  lacked_memory_ = false;
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
        waiting_room_, [this] { return is_complete() || in_host_code_.load(); }, std::nullopt);
}

// Of a stream that takes no work.
Result<> Stream::check_open() const {
  if (closed_) return fail(RuleId::StreamHandle, "stream", "the stream is being destroyed");
  return forward(abort_error());
}

Error Stream::abort_error() const {
  const RuleId why = abort_reason_.load();
  return {why, "stream",
          why == RuleId::DeviceAborting ? fmt::format("the tasks of device {} were aborted", traits_.device)
                                        : fmt::format("stream {:#x} was aborted", traits_.id.value)};
}

void Stream::begin_abort(RuleId why) {
  {
    std::lock_guard lock(mutex_);
    abort_reason_.store(why);
    aborting_.fetch_add(1);
    aborts_.fetch_add(1);
    abort_until_.store(given_.load());
  }
  wake();
}

bool Stream::wait_aborted(Deadline deadline) {
  // Code of the client's may block for as long as it likes; what stands behind it is given up all the same.
  return scheduler_.wait(
      waiting_room_, [this] { return completed() >= abort_until_.load() || in_host_code_.load(); }, deadline);
}

void Stream::end_abort() {
  std::lock_guard lock(mutex_);
  error_.reset();  // it was about work that is given up
  aborting_.fetch_sub(1);
}

void Stream::stop() {
  const Position next = completed() + 1;
  {
    std::lock_guard lock(mutex_);
    if (state_ != State::Parked && state_ != State::Running) return;
    if (next > given_.load()) return;  // it runs, and has nothing left that could wait
    stop_at_.store(next);
  }
  wake();
  if (!runs_here())
    scheduler_.wait(
        waiting_room_, [&] { return completed() >= next || in_host_code_.load(); }, std::nullopt);
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

void Stream::wake_here() {
  if (!scheduler_.lets_others_run()) return wake();
  {
    std::lock_guard lock(mutex_);
    if (state_ == State::Running) woken_ = true;
    if (state_ != State::Parked) return;
    state_ = State::Queued;
  }
  run_briefly();
}

}  // namespace plat::stream
