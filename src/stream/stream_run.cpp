// SPDX-License-Identifier: Apache-2.0
// A stream's turn: one item after the other until there is none, one waits, or others shall have their turn.
#include <cxxabi.h>
#include <fmt/format.h>

#include <exception>
#include <new>
#include <thread>
#include <utility>

#include "base/relax.h"
#include "os/uncancelled.h"
#include "rules/rules.h"
#include "stream/linger.h"
#include "stream/scheduler.h"
#include "stream/stream.h"

namespace plat::stream {
namespace {

// How much runs in a thread that has something else to do.
constexpr size_t kBriefItems = 16;

// How often, and after which pause, a stream looks again that has no memory to wait with: two seconds.
constexpr uint32_t kLooksWithoutMemory = 1000;
constexpr auto kPauseWithoutMemory = std::chrono::milliseconds(2);

bool takes_no_time(const Item& item) {
  return std::holds_alternative<NoStep>(item) || std::holds_alternative<RecordStep>(item) ||
         std::holds_alternative<WaitStep>(item) || std::holds_alternative<NotifyRecordStep>(item) ||
         std::holds_alternative<NotifyWaitStep>(item) || std::holds_alternative<RemoteWaitStep>(item);
}

bool waits(const Item& item) {
  return std::holds_alternative<WaitStep>(item) || std::holds_alternative<NotifyWaitStep>(item) ||
         std::holds_alternative<RemoteWaitStep>(item);
}

// The streams whose work the calling thread runs, innermost first. More than one when client code in an eager
// or seeded stream waits for another stream.
struct Frame {
  const Stream* stream;
  Frame* outer;
};
[[gnu::tls_model("initial-exec")]] constinit thread_local Frame* t_frame = nullptr;

}  // namespace

// The stream is queued, and the scheduler does not have it.
void Stream::run_briefly() {
  if (run(kBriefItems, Manner::Brief) == Turn::More) scheduler_.ready(shared_from_this());
}

bool Stream::runs_here() const {
  for (const Frame* frame = t_frame; frame; frame = frame->outer) {
    if (frame->stream == this) return true;
  }
  return false;
}

Stream::Turn Stream::run(size_t items_max, Manner manner) {
  const os::Uncancelled whole;  // this may be a thread of the client's
  {
    std::lock_guard lock(mutex_);
    state_ = State::Running;
  }
  brief_ = manner == Manner::Brief;
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
    if (items == items_max || (brief_ && !takes_no_time(batch_.front()))) {
      std::lock_guard lock(mutex_);
      state_ = State::Queued;
      turn = Turn::More;
      break;
    }
    const Progress progress = try_step(batch_.front());
    if (progress == Progress::Done) {
      finish_item();
      ++items;
      continue;
    }
    if (progress == Progress::Again) [[unlikely]] {
      if (!brief_) std::this_thread::sleep_for(kPauseWithoutMemory);
      std::lock_guard lock(mutex_);
      state_ = State::Queued;
      turn = Turn::More;
      break;
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
  looks_without_memory_ = 0;
  completed_.store(++done_);
  waiting_room_.await_no_more();
  waiting_room_.notify();
}

// The next batch; false, and the stream is idle, when there is nothing.
bool Stream::refill() {
  if (!brief_ && given_.load(std::memory_order_relaxed) == done_ && scheduler_.may_linger()) linger();
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
    for (int rest = 1; rest < kRestsPerLook && !waiting_room_.is_watched(); ++rest) relax();
  }
}

// Whatever goes wrong inside a step is an error of the stream, and the step is over. But what waits should
// not be over before its time for want of memory: what is queued behind it would run too early. It looks
// again for a while; not for ever, because the thread may be the one that could free some.
Stream::Progress Stream::try_step(Item& item) {
  try {
    return step(item);
  } catch (const abi::__forced_unwind&) {
    throw;  // The thread ends, and nothing may stop that.
  } catch (const std::bad_alloc&) {
    if (waits(item)) {
      if (may_look_again()) return Progress::Again;
      skip(item);
    }
    note_no_memory();
  } catch (const std::exception& error) {
    note(Error{RuleId::DeviceInternal, "stream", fmt::format("exception: {}", error.what())});
  } catch (...) {
    note(Error{RuleId::DeviceInternal, "stream", "unknown exception"});
  }
  return Progress::Done;
}

bool Stream::may_look_again() { return ++looks_without_memory_ < kLooksWithoutMemory; }

// There may be none for a message either.
void Stream::note_no_memory() {
  try {
    note(Error{RuleId::DeviceInternal, "stream", kNoMemory});
  } catch (const std::bad_alloc&) {
    std::lock_guard lock(mutex_);
    lacked_memory_ = true;
  }
}

Stream::Progress Stream::step(Item& item) {
  Progress progress = Progress::Done;
  if (discards_.load() || failures_->failed()) [[unlikely]] {
    skip(item);
  } else if (done_ < abort_until_.load(std::memory_order_relaxed)) [[unlikely]] {
    lose(item);
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
  } else if (auto* change = std::get_if<NotifyRecordStep>(&item)) {
    change->notify->change(change->change, change->value);
  } else if (auto* notify = std::get_if<NotifyWaitStep>(&item)) {
    progress = step_notify(*notify);
  } else if (auto* remote = std::get_if<RemoteWaitStep>(&item)) {
    progress = step_remote(*remote);
  }
  return progress == Progress::Wait && stop_at_.load() == done_ + 1 ? give_up(item) : progress;
}

// The item waits, and was to be stopped.
Stream::Progress Stream::give_up(Item& item) {
  lose(item);
  note(Error{RuleId::StreamAborted, "stream", "what the stream waited for was stopped by aclrtStreamStop"});
  return Progress::Done;
}

// Others may wait for what a dropped item would have done.
void Stream::skip(Item& item) {
  if (auto* record = std::get_if<RecordStep>(&item)) record->mark->complete({});
  if (auto* wait = std::get_if<WaitStep>(&item); wait && wait->pending) wait->pending->fetch_sub(1);
  if (auto* wait = std::get_if<RemoteWaitStep>(&item); wait && wait->pending) wait->pending->fetch_sub(1);
}

// Nobody is told of what was given up: who waits for a mark of it waits until it is aborted, too.
void Stream::lose(Item& item) {
  if (auto* record = std::get_if<RecordStep>(&item)) return record->mark->lose();
  skip(item);
}

void Stream::note(Error error) {
  // It surfaces at another call, which may have waited for many streams.
  error.detail = traits_.is_default
                     ? fmt::format("in the default stream of device {}, {}", traits_.device, error.detail)
                     : fmt::format("in stream {:#x}, {}", traits_.id.value, error.detail);
  failures_->tell(traits_, done_ + 1, error);
  failures_->note(error);
  std::lock_guard lock(mutex_);
  if (!error_) error_ = std::move(error);
}

}  // namespace plat::stream
