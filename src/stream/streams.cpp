// SPDX-License-Identifier: Apache-2.0
// How contexts and their streams begin and end, and how streams are found.
#include "stream/streams.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "rules/rules.h"

namespace plat::stream {

namespace {

unsigned workers_of(const Options& options) {
  if (options.workers > 0) return options.workers;
  return std::clamp(std::thread::hardware_concurrency(), 2U, 8U);
}

std::unique_ptr<Scheduler> make_scheduler(const Options& options) {
  switch (options.mode) {
    case Mode::Eager:
      return make_eager_scheduler();
    case Mode::Seeded:
      return make_seeded_scheduler(options.seed);
    case Mode::Pool:
      break;
  }
  return make_pool_scheduler(workers_of(options));
}

}  // namespace

Streams::Streams(const Setting& setting)
    : options_(setting.options),
      contexts_(setting),
      scheduler_(make_scheduler(options_)),
      quota_(options_.streams_max, {RuleId::StreamLimit, "stream", "streams"}),
      events_(*this, options_.events_max),
      notifies_(*this, options_.notifies_max),
      callbacks_(*this) {}

Streams::~Streams() {
  shutdown();
  boards_.close_own();  // its thread wakes streams
  scheduler_.reset();
}

Result<std::shared_ptr<Context>> Streams::make_context(int device, bool is_default) {
  auto context = contexts_.add(device, is_default);
  if (!context) return fail(RuleId::StreamLimit, "context", "there are no more contexts");
  struct Unfinished {  // also when there is no memory for the rest
    ~Unfinished() {
      if (context != nullptr) contexts.remove(*context);
    }
    Contexts& contexts;
    const Context* context;
  } unfinished{contexts_, context.get()};
  context->failures->on_failure([this, id = context->id] {
    for (auto& stream : streams_.all()) {
      if (stream->traits().context == id) stream->wake();
    }
  });
  context->failures->on_task_failure(task_failed_);
  PLAT_ASSIGN(stream, make_stream(*context, 0, 0, true));
  context->default_stream = stream->traits().id;
  unfinished.context = nullptr;
  return context;
}

Result<> Streams::set_device(int device) {
  PLAT_TRY(contexts_.check_device(device));
  std::shared_ptr<Context> made;
  PLAT_TRY(contexts_.set_device(device, [&]() -> Result<std::shared_ptr<Context>> {
    PLAT_ASSIGN(context, make_context(device, true));
    made = context;
    return context;
  }));
  if (made) tell(made->default_stream, StreamState::Made);
  return {};
}

Result<> Streams::release_device(int device, bool force) {
  PLAT_TRY(contexts_.check_device(device));
  PLAT_ASSIGN(context, contexts_.unset_device(device, force));
  if (context) close_context(context, Remaining::Finish);
  return {};
}

Result<ContextId> Streams::create_context(int device) {
  PLAT_TRY(contexts_.check_device(device));
  PLAT_ASSIGN(context, make_context(device, false));
  contexts_.use(*context);
  tell(context->default_stream, StreamState::Made);
  return context->id;
}

Result<> Streams::destroy_context(ContextId id) {
  auto context = contexts_.find(id);
  if (!context) return fail(RuleId::ContextHandle, "context", "{:#x} is no live context", id.value);
  if (context->is_default)
    return fail(RuleId::ContextDefault, "context", "{:#x} is the default context of device {}", id.value,
                context->device);
  close_context(context, Remaining::Finish);
  return {};
}

void Streams::close_context(const std::shared_ptr<Context>& context, Remaining remaining) {
  if (!contexts_.remove(*context)) return;  // Somebody else is at it.
  // One after the other, not from a list of all: nothing may be left behind because a list finds no memory.
  const auto is_of_it = [&](const Stream& stream) { return stream.traits().context == context->id; };
  while (const auto stream = streams_.find_if(is_of_it)) {
    if (remaining == Remaining::Finish) tell(stream->traits().id, StreamState::Going);
    if (auto owned = streams_.remove(stream->traits().id.value)) close_stream(owned, remaining);
  }
}

void Streams::close_contexts(Remaining remaining) {
  contexts_.unset_all();
  for (auto& context : contexts_.all()) close_context(context, remaining);
}

bool Streams::drain(Deadline deadline) const {
  for (const auto& stream : streams_.all())
    if (!scheduler_->wait(
            stream->waiting_room(), [&] { return stream->is_complete(); }, deadline))
      return false;
  return true;
}

void Streams::finish() { close_contexts(Remaining::Finish); }

void Streams::shutdown() {
  close_contexts(Remaining::Discard);
  events_.destroy_all();
  notifies_.destroy_all();
  callbacks_.drop_all();
}

Result<StreamId> Streams::resolve(StreamId id) const {
  PLAT_ASSIGN(stream, find_stream(id));
  return stream->traits().id;
}

Result<StreamId> Streams::default_stream() const {
  PLAT_ASSIGN(context, contexts_.current());
  return context->default_stream;
}

Result<std::shared_ptr<Stream>> Streams::find_stream(StreamId id) const {
  // A stream dies with its context, so one that belongs to the thread's current context needs no other
  // look-up.
  if (id.value != 0) [[likely]] {
    auto stream = streams_.find(id.value);
    if (stream && contexts_.is_current(stream->traits().context)) return stream;
    if (!stream) return fail(RuleId::StreamHandle, "stream", "{:#x} is no live stream", id.value);
    PLAT_ASSIGN(context, contexts_.current());
    return fail(RuleId::StreamContext, "stream",
                "the stream belongs to context {:#x}, the thread's current one is {:#x}",
                stream->traits().context.value, context->id.value);
  }
  PLAT_ASSIGN(context, contexts_.current());
  if (auto stream = streams_.find(context->default_stream.value)) return stream;
  return fail(RuleId::StreamHandle, "stream", "the context is being destroyed");
}

Result<std::shared_ptr<Stream>> Streams::any_stream(StreamId id) const {
  if (id.value == 0) {
    PLAT_ASSIGN(context, contexts_.current());
    id = context->default_stream;
  }
  if (auto stream = streams_.find(id.value)) return stream;
  return fail(RuleId::StreamHandle, "stream", "{:#x} is no live stream", id.value);
}

Result<uint32_t> Streams::available() const {
  PLAT_ASSIGN(context, contexts_.current());
  return quota_.left(context->device);
}

}  // namespace plat::stream
