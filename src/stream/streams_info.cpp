// SPDX-License-Identifier: Apache-2.0
// What streams and events are, and how many more there can be.
#include <algorithm>

#include "rules/rules.h"
#include "stream/streams.h"

namespace plat::stream {

Result<std::shared_ptr<Stream>> Streams::any_stream(StreamId id) const {
  if (id.value == 0) {
    PLAT_ASSIGN(context, current());
    id = context->default_stream;
  }
  if (auto stream = streams_.find(id.value)) return stream;
  return fail(RuleId::StreamHandle, "stream", "{:#x} is no live stream", id.value);
}

Result<bool> Streams::stops_on_failure(StreamId id) const {
  PLAT_ASSIGN(stream, find_stream(id));
  const auto context = contexts_.find(stream->traits().context.value);
  return context && context->failures->stops();
}

bool Streams::is_set(int device) const {
  std::lock_guard lock(state_mutex_);
  const auto found = devices_.find(device);
  return found != devices_.end() && found->second.set_count > 0;
}

Result<> Streams::set_context_option(size_t option, int64_t value) {
  PLAT_ASSIGN(context, current());
  std::lock_guard lock(state_mutex_);
  context->options[option] = value;
  return {};
}

Result<std::optional<int64_t>> Streams::context_option(size_t option) const {
  PLAT_ASSIGN(context, current());
  std::lock_guard lock(state_mutex_);
  return context->options[option];
}

Result<uint32_t> Streams::event_number(EventId id) const {
  PLAT_ASSIGN(event, find_event(id));
  if (event->is_shared())
    return fail(RuleId::EventNumberless, "event", "event {:#x} is one between processes", id.value);
  return events_.slot_number(event->id.value);
}

Result<uint32_t> Streams::streams_available() const {
  PLAT_ASSIGN(context, current());
  std::lock_guard lock(state_mutex_);
  const auto device = devices_.find(context->device);
  const uint32_t used = device == devices_.end() ? 0 : device->second.streams;
  return streams_max_.load() - std::min(used, streams_max_.load());
}

Result<uint32_t> Streams::events_available() const {
  PLAT_ASSIGN(context, current());
  std::lock_guard lock(state_mutex_);
  const auto device = devices_.find(context->device);
  const uint32_t used = device == devices_.end() ? 0 : device->second.events;
  return events_max_.load() - std::min(used, events_max_.load());
}

}  // namespace plat::stream
