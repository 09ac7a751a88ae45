// SPDX-License-Identifier: Apache-2.0
// Streams: creation, work, synchronisation, order.
#include <algorithm>
#include <utility>

#include "rules/rules.h"
#include "stream/last_stream.h"
#include "stream/streams.h"

namespace plat::stream {
namespace {

constexpr uint32_t kPersistent = 0x4;
constexpr uint32_t kCpuSchedule = 0x10;
constexpr uint32_t kDeviceOnly = 0x20;
constexpr uint32_t kKnownFlags = 0x3f;
// Streams that only a model or the device itself feeds. The host can create them and that is all.
constexpr uint32_t kNoHostWork = kPersistent | kCpuSchedule | kDeviceOnly;

Result<Deadline> deadline_of(int32_t timeout_ms) {
  if (timeout_ms == -1) return Deadline{};
  if (timeout_ms <= 0) return fail(RuleId::StreamTimeoutValue, "timeout", "timeout is {}", timeout_ms);
  return Deadline{Clock::now() + std::chrono::milliseconds(timeout_ms)};
}

}  // namespace

Result<std::shared_ptr<Stream>> Streams::make_stream(const Context& context, uint32_t priority,
                                                     uint32_t flags, bool is_default) {
  PLAT_ASSIGN(stream, quota_.take_for(context.device, [&] {
    return streams_.add([&](uint64_t id) {
      return std::make_shared<Stream>(
          StreamTraits{StreamId{id}, context.id, context.device, priority, flags, is_default}, *scheduler_,
          context.failures);
    });
  }));
  if (stream) return stream;
  return fail(RuleId::StreamLimit, "stream", "there are no more streams in this process");
}

Result<StreamId> Streams::create_stream(uint32_t priority, uint32_t flags) {
  if ((flags & kDeviceOnly) != 0 && (flags & kKnownFlags) != kDeviceOnly)
    return fail(RuleId::StreamFlags, "flag", "flag is {:#x}", flags);
  PLAT_ASSIGN(context, contexts_.current());
  // Priorities and flags beyond the known ones are taken for the nearest: that is what the hardware does.
  PLAT_ASSIGN(stream, make_stream(*context, std::min(priority, kPriorityLowest), flags & kKnownFlags, false));
  tell(stream->traits().id, StreamState::Made);
  return stream->traits().id;
}

Result<> Streams::destroy_stream(StreamId id, Remaining remaining) {
  PLAT_ASSIGN(stream, find_stream(id));
  if (stream->traits().is_default)
    return fail(RuleId::StreamDefault, "stream", "{:#x} is a default stream", id.value);
  if (remaining == Remaining::Finish && stream->runs_here())
    return fail(RuleId::StreamSelfWait, "stream", "stream {:#x} would wait for the function that calls",
                id.value);
  tell(id, StreamState::Going);
  if (!streams_.remove(id.value))
    return fail(RuleId::StreamHandle, "stream", "{:#x} is no live stream", id.value);
  close_stream(stream, remaining);
  return {};
}

// The stream is already out of the table.
void Streams::close_stream(const std::shared_ptr<Stream>& stream, Remaining remaining) {
  stream->close();
  if (remaining == Remaining::Finish && !stream->runs_here()) {
    scheduler_->wait(
        stream->waiting_room(), [&] { return stream->is_complete(); }, std::nullopt);
  } else {
    stream->discard();
  }
  callbacks_.drop(stream->traits().id);
  scheduler_->drive();
  quota_.give_back(stream->traits().device);
}

Result<> Streams::wait_for(Stream& stream, Position position, Deadline deadline) const {
  if (stream.completed() >= position) return {};
  if (stream.runs_here())
    return fail(RuleId::StreamSelfWait, "stream", "stream {:#x} would wait for the function that calls",
                stream.traits().id.value);
  const uint64_t aborts = stream.aborts();
  const bool aborting = stream.is_aborting();
  if (scheduler_->wait(
          stream.waiting_room(), [&] { return stream.completed() >= position; }, deadline)) {
    if (aborting || stream.aborts() != aborts) return forward(stream.abort_error());
    return {};
  }
  return fail(RuleId::StreamSyncTimeout, "timeout",
              "stream {:#x} has completed {} of {} when the time was over", stream.traits().id.value,
              stream.completed(), position);
}

Result<> Streams::synchronize(StreamId id, int32_t timeout_ms) {
  PLAT_ASSIGN(deadline, deadline_of(timeout_ms));
  PLAT_ASSIGN(stream, find_stream(id));
  PLAT_TRY(wait_for(*stream, stream->given(), deadline));
  if (auto error = stream->take_error()) return forward(std::move(*error));
  return {};
}

Result<> Streams::synchronize_device(int32_t timeout_ms) {
  PLAT_ASSIGN(deadline, deadline_of(timeout_ms));
  PLAT_ASSIGN(context, contexts_.current());
  std::vector<std::pair<std::shared_ptr<Stream>, Position>> goals;
  for (auto& stream : streams_.all()) {
    if (stream->traits().device == context->device) goals.emplace_back(stream, stream->given());
  }
  for (auto& [stream, position] : goals) PLAT_TRY(wait_for(*stream, position, deadline));
  // All errors have surfaced once one is returned: they are about work before this point.
  std::optional<Error> first;
  for (auto& [stream, position] : goals) {
    auto error = stream->take_error();
    if (error && !first) first = std::move(error);
  }
  if (first) return forward(std::move(*first));
  return {};
}

Result<bool> Streams::is_complete(StreamId id) {
  scheduler_->drive_for_query();
  PLAT_ASSIGN(stream, find_stream(id));
  return stream->is_complete();
}

Result<> Streams::set_failure_mode(StreamId id, uint64_t mode) {
  if (mode > static_cast<uint64_t>(FailureMode::Stop))
    return fail(RuleId::StreamFailureMode, "mode", "mode is {}", mode);
  PLAT_ASSIGN(stream, find_stream(id));
  if ((stream->traits().flags & kDeviceOnly) != 0)
    return fail(RuleId::StreamNoHostWork, "stream", "the stream was created with flags {:#x}",
                stream->traits().flags);
  auto context = contexts_.find(stream->traits().context);
  if (!context) return fail(RuleId::StreamHandle, "stream", "the context is being destroyed");
  std::lock_guard lock(failure_mutex_);
  const bool stop = mode == static_cast<uint64_t>(FailureMode::Stop);
  if (stop == context->failures->stops()) return {};
  if (!stop)
    return fail(RuleId::StreamFailureModeOnce, "mode", "the streams of this context stop at a failure");
  context->failures->set_stops();
  return {};
}

Result<bool> Streams::stops_on_failure(StreamId id) const {
  PLAT_ASSIGN(stream, find_stream(id));
  const auto context = contexts_.find(stream->traits().context);
  return context && context->failures->stops();
}

Result<std::shared_ptr<Stream>> Streams::find_for_work(StreamId id) const {
  auto stream = find_stream(id);
  if (stream && ((*stream)->traits().flags & kNoHostWork) != 0) [[unlikely]]
    return fail(RuleId::StreamNoHostWork, "stream", "the stream was created with flags {:#x}",
                (*stream)->traits().flags);
  return stream;
}

template <class Step>
Result<Position> Streams::push(StreamId id, Step&& step) {
  const LastStream::Key key{contexts_.serial(), id.value, streams_.removals()};
  const auto give = [&](Stream& stream) {
    auto position = stream.push(std::forward<Step>(step));
    scheduler_->drive();
    return position;
  };
  Stream* last = LastStream::find(key);
  if (last != nullptr && contexts_.is_current(last->traits().context)) [[likely]]
    return give(*last);
  PLAT_ASSIGN(stream, find_for_work(id));
  if (id.value != 0) LastStream::keep(key, stream);  // 0 is another stream in each context
  return give(*stream);
}

Result<Position> Streams::enqueue(StreamId id, Task&& task) { return push(id, std::move(task)); }

Result<Position> Streams::enqueue_poll(StreamId id, Poll&& poll) { return push(id, std::move(poll)); }

Result<Position> Streams::launch_host_function(StreamId id, void (*function)(void*), void* argument) {
  if (!function) return fail(RuleId::CallbackFunction, "fn", "fn is null");
  return push(id, HostCall{function, argument});
}

bool Streams::has_completed(StreamId id, Position position) const {
  auto stream = streams_.find(id.value);
  return !stream || stream->completed() >= position;
}

bool Streams::runs_after(StreamId later, StreamId id, Position position) const {
  if (later == id || has_completed(id, position)) return true;
  auto stream = streams_.find(later.value);
  if (!stream) return false;
  const SharedHistory history = stream->history();
  return history && history->reached(id) >= position;
}

Result<Position> Streams::position(StreamId id) const {
  PLAT_ASSIGN(stream, find_stream(id));
  return stream->given();
}

}  // namespace plat::stream
