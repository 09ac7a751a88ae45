// SPDX-License-Identifier: Apache-2.0
// The setting, contexts and devices.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <random>
#include <thread>
#include <utility>

#include "base/text.h"
#include "device/config.h"
#include "rules/rules.h"
#include "stream/streams.h"

namespace plat::stream {

constinit thread_local Current t_current{};

namespace {

std::atomic<uint64_t> g_serial{0};

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

Result<Options> parse_mode(std::string_view text) {
  Options options;
  if (text == "pool") return options;
  if (text == "eager") {
    options.mode = Mode::Eager;
    return options;
  }
  constexpr std::string_view kSeeded = "seeded";
  if (text == kSeeded) {
    options.mode = Mode::Seeded;
    options.seed = std::random_device{}();
    return options;
  }
  if (text.starts_with(kSeeded) && text.substr(kSeeded.size()).starts_with(':')) {
    if (auto seed = parse_number(text.substr(kSeeded.size() + 1))) {
      options.mode = Mode::Seeded;
      options.seed = *seed;
      return options;
    }
  }
  return fail(RuleId::StreamMode, "PLAT_STREAMS", "'{}' is none of pool, eager, seeded and seeded:N", text);
}

Setting read_setting() {
  const auto text = device::setting("streams");
  auto options = text ? parse_mode(*text) : Result<Options>{};
  if (!options) return {{}, options.error()};
  if (options->mode == Mode::Seeded) {
    std::fprintf(
        stderr, "plat: streams are interleaved by seed %llu (PLAT_STREAMS=seeded:%llu repeats this run)\n",
        static_cast<unsigned long long>(options->seed), static_cast<unsigned long long>(options->seed));
  }
  return {*options, std::nullopt};
}

Streams::Streams(const Setting& setting)
    : options_(setting.options),
      problem_(setting.problem),
      serial_(++g_serial),
      scheduler_(make_scheduler(options_)),
      streams_max_(options_.streams_max),
      events_max_(options_.events_max),
      notifies_max_(options_.notifies_max) {}

Streams::~Streams() {
  shutdown();
  board_.reset();  // its thread wakes streams
  scheduler_.reset();
}

Result<> Streams::check_device(int device) const {
  if (problem_) return forward(*problem_);
  if (device >= 0 && device < options_.device_count) return {};
  return fail(RuleId::DeviceId, "deviceId", "device {} of {}", device, options_.device_count);
}

Result<std::shared_ptr<Streams::Context>> Streams::current() const {
  if (t_current.runtime != serial_ || t_current.context.value == 0)
    return fail(RuleId::NoContext, "context", "no device was set in this thread");
  if (auto context = contexts_.find(t_current.context.value)) return context;
  return fail(RuleId::NoContext, "context", "the thread's context {:#x} was destroyed",
              t_current.context.value);
}

Result<std::shared_ptr<Streams::Context>> Streams::make_context(int device, bool is_default) {
  auto context = contexts_.add([&](uint64_t id) {
    auto made = std::make_shared<Context>();
    made->id = ContextId{id};
    made->device = device;
    made->is_default = is_default;
    return made;
  });
  if (!context) return fail(RuleId::StreamLimit, "context", "there are no more contexts");
  context->failures->on_failure([this, id = context->id] {
    for (auto& stream : streams_.all()) {
      if (stream->traits().context == id) stream->wake();
    }
  });
  context->failures->on_task_failure(task_failed_);
  auto stream = make_stream(*context, 0, 0, true);
  if (!stream) {
    contexts_.remove(context->id.value);
    return forward(std::move(stream).error());
  }
  context->default_stream = (*stream)->traits().id;
  return context;
}

Result<> Streams::set_device(int device) {
  PLAT_TRY(check_device(device));
  std::shared_ptr<Context> made;
  {
    // Held while the default context is made, so that two threads do not make two; make_stream only locks
    // state_mutex_.
    std::lock_guard making(default_mutex_);
    ContextId id;
    {
      std::lock_guard lock(state_mutex_);
      id = devices_[device].default_context;
    }
    if (id.value == 0) {
      PLAT_ASSIGN(context, make_context(device, true));
      id = context->id;
      made = std::move(context);
    }
    std::lock_guard lock(state_mutex_);
    DeviceState& state = devices_[device];
    state.default_context = id;
    ++state.set_count;
    t_current = {serial_, id, 0, 0};
  }
  if (made) tell(made->default_stream, StreamState::Made);
  return {};
}

Result<> Streams::reset_device(int device) { return release_device(device, false); }
Result<> Streams::reset_device_force(int device) { return release_device(device, true); }

Result<> Streams::release_device(int device, bool force) {
  PLAT_TRY(check_device(device));
  std::shared_ptr<Context> context;
  {
    std::scoped_lock lock(default_mutex_, state_mutex_);
    DeviceState& state = devices_[device];
    if (state.set_count == 0)
      return fail(RuleId::DeviceNotSet, "deviceId", "device {} is not set in this process", device);
    state.set_count = force ? 0 : state.set_count - 1;
    if (state.set_count > 0) return {};
    context = contexts_.find(std::exchange(state.default_context, {}).value);
  }
  if (context) close_context(context, Remaining::Finish);
  return {};
}

Result<int> Streams::find_device() const {
  const uint64_t closed = contexts_closed_.load(std::memory_order_acquire);
  PLAT_ASSIGN(context, current());
  t_current.device = context->device;
  t_current.closed_plus_one = closed + 1;
  return context->device;
}

Result<ContextId> Streams::create_context(int device) {
  PLAT_TRY(check_device(device));
  PLAT_ASSIGN(context, make_context(device, false));
  t_current = {serial_, context->id, 0, 0};
  tell(context->default_stream, StreamState::Made);
  return context->id;
}

Result<> Streams::destroy_context(ContextId id) {
  auto context = contexts_.find(id.value);
  if (!context) return fail(RuleId::ContextHandle, "context", "{:#x} is no live context", id.value);
  if (context->is_default)
    return fail(RuleId::ContextDefault, "context", "{:#x} is the default context of device {}", id.value,
                context->device);
  close_context(context, Remaining::Finish);
  return {};
}

Result<> Streams::set_current_context(ContextId id) {
  if (!contexts_.find(id.value))
    return fail(RuleId::ContextHandle, "context", "{:#x} is no live context", id.value);
  t_current = {serial_, id, 0, 0};
  return {};
}

Result<ContextId> Streams::current_context() const {
  PLAT_ASSIGN(context, current());
  return context->id;
}

Result<int> Streams::device_of(ContextId id) const {
  if (auto context = contexts_.find(id.value)) return context->device;
  return fail(RuleId::ContextHandle, "context", "{:#x} is no live context", id.value);
}

bool Streams::uses_device(int device) const {
  for (const auto& context : contexts_.all()) {
    if (context->device == device) return true;
  }
  return false;
}

void Streams::close_context(const std::shared_ptr<Context>& context, Remaining remaining) {
  if (!contexts_.remove(context->id.value)) return;  // Somebody else is at it.
  contexts_closed_.fetch_add(1, std::memory_order_release);
  for (auto& stream : streams_.all()) {
    if (stream->traits().context != context->id) continue;
    if (remaining == Remaining::Finish) tell(stream->traits().id, StreamState::Going);
    if (auto owned = streams_.remove(stream->traits().id.value)) close_stream(owned, remaining);
  }
}

void Streams::close_contexts(Remaining remaining) {
  {
    std::scoped_lock lock(default_mutex_, state_mutex_);
    for (auto& [device, state] : devices_) state.set_count = 0, state.default_context = {};
  }
  for (auto& context : contexts_.all()) close_context(context, remaining);
}

bool Streams::drain(Deadline deadline) const {
  for (const auto& stream : streams_.all())
    if (!scheduler_->wait(
            stream->gate(), [&] { return stream->is_complete(); }, deadline))
      return false;
  return true;
}

void Streams::finish() { close_contexts(Remaining::Finish); }

void Streams::shutdown() {
  close_contexts(Remaining::Discard);
  for (auto& event : events_.all()) (void)destroy_event(event->id);
  for (auto& notify : notifies_.all()) (void)destroy_notify(notify->id(), notify->is_counting());
  std::lock_guard lock(report_mutex_);
  for (auto& [thread, reporter] : reporters_) reporter->close();
  reporters_.clear();
  subscriptions_.clear();
}

Result<StreamId> Streams::resolve(StreamId id) const {
  PLAT_ASSIGN(stream, find_stream(id));
  return stream->traits().id;
}

Result<StreamId> Streams::default_stream() const {
  PLAT_ASSIGN(context, current());
  return context->default_stream;
}

Result<std::shared_ptr<Stream>> Streams::find_stream(StreamId id) const {
  // A stream dies with its context, so one that belongs to the thread's current context needs no other
  // look-up.
  if (id.value != 0) [[likely]] {
    auto stream = streams_.find(id.value);
    if (stream && t_current.runtime == serial_ && stream->traits().context == t_current.context)
      return stream;
    if (!stream) return fail(RuleId::StreamHandle, "stream", "{:#x} is no live stream", id.value);
    PLAT_ASSIGN(context, current());
    return fail(RuleId::StreamContext, "stream",
                "the stream belongs to context {:#x}, the thread's current one is {:#x}",
                stream->traits().context.value, context->id.value);
  }
  PLAT_ASSIGN(context, current());
  if (auto stream = streams_.find(context->default_stream.value)) return stream;
  return fail(RuleId::StreamHandle, "stream", "the context is being destroyed");
}

}  // namespace plat::stream
