// SPDX-License-Identifier: Apache-2.0
// What streams and events are, and how many more there can be.
#include <algorithm>

#include "rules/rules.h"
#include "stream/streams.h"

namespace plat::stream {

Result<Streams::StreamInfo> Streams::info(StreamId id) const {
  if (id.value == 0) {
    PLAT_ASSIGN(context, current());
    id = context->default_stream;
  }
  const auto stream = streams_.find(id.value);
  if (!stream) return fail(RuleId::StreamHandle, "stream", "{:#x} is no live stream", id.value);
  const StreamTraits& traits = stream->traits();
  return StreamInfo{streams_.slot_number(traits.id.value), traits.priority, traits.flags};
}

Result<uint32_t> Streams::event_number(EventId id) const {
  PLAT_ASSIGN(event, find_event(id));
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
