// SPDX-License-Identifier: Apache-2.0
// Callbacks: which thread serves which stream.
#include "stream/callbacks.h"

#include <utility>

#include "rules/rules.h"
#include "stream/streams.h"

namespace plat::stream {
namespace {

constexpr size_t kThreadsMax = 1024;

}  // namespace

std::shared_ptr<CallbackThread> Callbacks::thread_of(StreamId stream) const {
  std::lock_guard lock(mutex_);
  auto found = subscriptions_.find(stream.value);
  return found == subscriptions_.end() ? nullptr : found->second;
}

Result<> Callbacks::subscribe(uint64_t thread, StreamId stream_id) {
  PLAT_ASSIGN(stream, streams_.find_for_work(stream_id));
  const StreamTraits& traits = stream->traits();
  std::lock_guard lock(mutex_);
  if (auto found = subscriptions_.find(traits.id.value); found != subscriptions_.end())
    return fail(RuleId::SubscribeTwice, "stream", "thread {:#x} serves the stream already",
                found->second->thread());
  const auto known = threads_.find(thread);
  std::shared_ptr<CallbackThread> server = known != threads_.end() ? known->second : nullptr;
  if (!server) {
    if (threads_.size() >= kThreadsMax)
      return fail(RuleId::SubscribeLimit, "threadId", "{} threads are subscribed", kThreadsMax);
    server = std::make_shared<CallbackThread>(thread, traits.device);
  }
  if (server->device() != traits.device)
    return fail(RuleId::SubscribeDevice, "threadId",
                "the thread serves device {}, the stream is of device {}", server->device(), traits.device);
  // Both tables have it, or neither: one may find no memory.
  const auto subscribed = subscriptions_.emplace(traits.id.value, server).first;
  try {
    threads_.try_emplace(thread, server);
  } catch (...) {
    subscriptions_.erase(subscribed);
    throw;
  }
  ++server->stream_count;
  return {};
}

Result<> Callbacks::unsubscribe(uint64_t thread, StreamId stream_id) {
  PLAT_ASSIGN(stream, streams_.find_stream(stream_id));
  auto server = thread_of(stream->traits().id);
  if (!server || server->thread() != thread)
    return fail(RuleId::SubscribeMissing, "threadId", "thread {:#x} does not serve the stream", thread);
  drop(stream->traits().id);
  streams_.scheduler().drive();
  return {};
}

void Callbacks::drop(StreamId stream) {
  std::shared_ptr<CallbackThread> idle;
  {
    std::lock_guard lock(mutex_);
    auto found = subscriptions_.find(stream.value);
    if (found == subscriptions_.end()) return;
    std::shared_ptr<CallbackThread> server = std::move(found->second);
    subscriptions_.erase(found);
    if (--server->stream_count > 0) return;
    threads_.erase(server->thread());
    idle = std::move(server);
  }
  idle->close();
}

void Callbacks::drop_all() {
  std::lock_guard lock(mutex_);
  for (auto& [thread, server] : threads_) server->close();
  threads_.clear();
  subscriptions_.clear();
}

Result<> Callbacks::process(uint64_t thread, int32_t timeout_ms) {
  if (timeout_ms < -1 || timeout_ms == 0)
    return fail(RuleId::ReportTimeoutValue, "timeout", "timeout is {}", timeout_ms);
  std::shared_ptr<CallbackThread> server;
  {
    std::lock_guard lock(mutex_);
    if (auto found = threads_.find(thread); found != threads_.end()) server = found->second;
  }
  if (!server) return fail(RuleId::ReportThread, "", "thread {:#x} serves no stream", thread);
  Deadline deadline;
  if (timeout_ms > 0) deadline = Clock::now() + std::chrono::milliseconds(timeout_ms);
  if (!streams_.scheduler().wait(
          server->waiting_room(), [&] { return server->has_due() || server->closed(); }, deadline))
    return fail(RuleId::ReportTimeout, "timeout", "nothing was due within {} ms", timeout_ms);
  if (!server->has_due())
    return fail(RuleId::ReportThread, "", "thread {:#x} serves no stream any more", thread);
  auto returned = server->run_due();
  streams_.scheduler().drive();
  return returned;
}

Result<> Callbacks::launch(StreamId stream_id, void (*function)(void*), void* argument, bool blocks) {
  if (!function) return fail(RuleId::CallbackFunction, "fn", "fn is null");
  PLAT_ASSIGN(stream, streams_.find_for_work(stream_id));
  auto server = thread_of(stream->traits().id);
  if (!server)
    return fail(RuleId::CallbackUnserved, "stream", "no thread serves stream {:#x}",
                stream->traits().id.value);
  PLAT_TRY(stream->push(CallbackStep{std::move(server), HostCall{function, argument}, blocks}));
  streams_.scheduler().drive();
  return {};
}

}  // namespace plat::stream
