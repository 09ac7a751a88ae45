// SPDX-License-Identifier: Apache-2.0
// Work that is cut short: one stream, or all streams of a device.
#include "rules/rules.h"
#include "stream/streams.h"

namespace plat::stream {

namespace {

Result<> check_elsewhere(const Stream& stream) {
  if (!stream.runs_here()) return {};
  return fail(RuleId::StreamSelfWait, "stream", "stream {:#x} would wait for the function that calls",
              stream.traits().id.value);
}

}  // namespace

Result<> Streams::abort_stream(StreamId id) {
  if (id.value == 0 && !contexts_.current())
    return fail(RuleId::StreamNull, "stream", "stream is null, and the thread has no context");
  PLAT_ASSIGN(stream, find_stream(id));
  PLAT_TRY(check_elsewhere(*stream));
  stream->begin_abort(RuleId::StreamAborted);
  stream->wait_aborted(std::nullopt);
  stream->end_abort();
  scheduler_->drive();
  return {};
}

Result<> Streams::stop_stream(StreamId id) {
  PLAT_ASSIGN(stream, find_stream(id));
  PLAT_TRY(check_elsewhere(*stream));
  stream->stop();
  scheduler_->drive();
  return {};
}

Result<> Streams::abort_device(int device, uint32_t timeout_ms) {
  Deadline deadline;
  if (timeout_ms > 0) deadline = Clock::now() + std::chrono::milliseconds(timeout_ms);
  std::vector<std::shared_ptr<Stream>> streams;
  for (auto& stream : streams_.all()) {
    if (stream->traits().device == device) streams.push_back(stream);
  }
  for (const auto& stream : streams) PLAT_TRY(check_elsewhere(*stream));
  for (const auto& stream : streams) stream->begin_abort(RuleId::DeviceAborting);
  bool in_time = true;
  for (const auto& stream : streams) in_time = stream->wait_aborted(deadline) && in_time;
  for (const auto& stream : streams) stream->end_abort();
  scheduler_->drive();
  if (in_time) return {};
  return fail(RuleId::AbortTimeout, "timeout", "work of device {} still runs after {} ms", device,
              timeout_ms);
}

}  // namespace plat::stream
