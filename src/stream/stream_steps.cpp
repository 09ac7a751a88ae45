// SPDX-License-Identifier: Apache-2.0
// What an item of a stream does that calls client code or waits for something.
#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <utility>

#include "base/relax.h"
#include "rules/rules.h"
#include "stream/board.h"
#include "stream/callback_thread.h"
#include "stream/client_code.h"
#include "stream/linger.h"
#include "stream/scheduler.h"
#include "stream/stream.h"

namespace plat::stream {
namespace {

// A value that a poll waits for changes soon or not for a while: ask often at first, then less, up to
// kPollPauseMax.
constexpr Clock::duration kPollPauseMin = std::chrono::microseconds(20);

}  // namespace

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
  try {
    scheduler_.wake_at(shared_from_this(), Clock::now() + poll_pause_);
  } catch (const std::bad_alloc&) {
    if (may_look_again()) return Progress::Again;
    throw;
  }
  return Progress::Wait;
}

Stream::Progress Stream::step_wait(WaitStep& step) {
  if (!step.registered && !step.mark->done()) {
    // First the timer: who is registered without one would miss the time.
    if (step.timeout != Clock::duration{} && step.deadline == Clock::time_point{}) {
      const auto end = Clock::now() + step.timeout;
      scheduler_.wake_at(shared_from_this(), end);
      step.deadline = end;
    }
    step.registered = step.mark->add_waiter(shared_from_this());
  }
  if (!step.mark->done()) {
    if (step.timeout == Clock::duration{} || Clock::now() < step.deadline) return Progress::Wait;
    note(Error{RuleId::StreamWaitTimeout, "event",
               fmt::format("the event was not recorded and reached within {} s (queued by "
                           "aclrtStreamWaitEvent or aclrtStreamWaitEventWithTimeout)",
                           std::chrono::duration_cast<std::chrono::seconds>(step.timeout).count())});
  }
  if (step.pending) step.pending->fetch_sub(1);
  return Progress::Done;
}

Stream::Progress Stream::step_callback(CallbackStep& step) {
  if (!step.state) {
    step.state = std::make_shared<std::atomic<CallbackState>>(CallbackState::Queued);
    step.server->post(DueCallback{step.call, step.state, step.blocks ? shared_from_this() : nullptr});
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

// The other side is often about to get there, and looking is shorter than a sleep and a wake-up.
template <class Look>
bool Stream::look_for_a_moment(const Look& look) const {
  for (int turn = 0; !brief_ && turn < kLingerLooks && scheduler_.may_linger(); ++turn) {
    if (look()) return true;
    for (int rest = 0; rest < kRestsPerLook; ++rest) relax();
  }
  return look();
}

bool Stream::is_over(uint32_t timeout_s, Clock::time_point& deadline) {
  if (timeout_s == 0) return false;
  if (deadline == Clock::time_point{}) {
    const auto end = Clock::now() + std::chrono::seconds(timeout_s);
    scheduler_.wake_at(shared_from_this(), end);
    deadline = end;
  }
  return Clock::now() >= deadline;
}

Stream::Progress Stream::step_notify(NotifyWaitStep& step) {
  Notify& notify = *step.notify;
  if (notify.take(step.awaited)) return Progress::Done;
  const auto place = notify.place();
  if (place && look_for_a_moment([&] { return notify.take(step.awaited); })) return Progress::Done;
  if (place && place->is_own() && scheduler_.lets_others_run()) waiting_room_.await(place->board().bell());
  const bool is_told = notify.park(shared_from_this());
  if (notify.take(step.awaited)) return Progress::Done;  // it came while nobody would have told us
  if (notify.has_ended()) {
    note(Error{RuleId::NotifyHandle, "notify",
               fmt::format("notify {:#x} was destroyed while the stream waited for it", notify.id().value)});
    return Progress::Done;
  }
  if (is_over(step.timeout_s, step.deadline)) {
    note(Error{RuleId::NotifyWaitTimeout, "timeout",
               fmt::format("notify {:#x} was not recorded within {} s (queued by aclrtWaitAndResetNotify)",
                           notify.id().value, step.timeout_s)});
    return Progress::Done;
  }
  if (!is_told) scheduler_.wake_at(shared_from_this(), Clock::now() + kPollPauseMax);
  return Progress::Wait;
}

Stream::Progress Stream::step_remote(RemoteWaitStep& step) {
  Board& board = step.place->board();
  const auto is_reached = [&] { return board.is_reached(step.place->index(), step.number); };
  const auto done = [&] {
    if (step.pending) step.pending->fetch_sub(1);
    return Progress::Done;
  };
  if (look_for_a_moment(is_reached)) return done();
  const bool is_told = board.park(shared_from_this());
  if (is_reached()) return done();
  if (board.owner_is_gone()) {
    note(Error{RuleId::EventKey, "event",
               fmt::format("process {} ended before it reached the record that the stream waits for",
                           board.owner())});
    return done();
  }
  if (is_over(step.timeout_s, step.deadline)) {
    note(
        Error{RuleId::StreamWaitTimeout, "event",
              fmt::format("process {} did not reach its record within {} s", board.owner(), step.timeout_s)});
    return done();
  }
  if (!is_told) scheduler_.wake_at(shared_from_this(), Clock::now() + kPollPauseMax);
  return Progress::Wait;
}

}  // namespace plat::stream
