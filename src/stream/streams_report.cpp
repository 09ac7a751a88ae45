// SPDX-License-Identifier: Apache-2.0
// Callbacks: which thread serves which stream.
#include <utility>

#include "rules/rules.h"
#include "stream/streams.h"

namespace plat::stream {
namespace {

constexpr size_t kReporterThreadsMax = 1024;

}  // namespace

std::shared_ptr<Reporter> Streams::reporter_of(StreamId stream) const {
  std::lock_guard lock(report_mutex_);
  auto found = subscriptions_.find(stream.value);
  return found == subscriptions_.end() ? nullptr : found->second;
}

Result<> Streams::subscribe(uint64_t thread, StreamId stream_id) {
  PLAT_ASSIGN(stream, find_for_work(stream_id));
  const StreamTraits& traits = stream->traits();
  std::lock_guard lock(report_mutex_);
  if (auto found = subscriptions_.find(traits.id.value); found != subscriptions_.end())
    return fail(RuleId::SubscribeTwice, "stream", "thread {:#x} serves the stream already",
                found->second->thread());
  std::shared_ptr<Reporter>& reporter = reporters_[thread];
  if (!reporter) {
    if (reporters_.size() > kReporterThreadsMax) {
      reporters_.erase(thread);
      return fail(RuleId::SubscribeLimit, "threadId", "{} threads are subscribed", kReporterThreadsMax);
    }
    reporter = std::make_shared<Reporter>(thread, traits.device);
  }
  if (reporter->device() != traits.device)
    return fail(RuleId::SubscribeDevice, "threadId",
                "the thread serves device {}, the stream is of device {}", reporter->device(), traits.device);
  ++reporter->stream_count;
  subscriptions_.emplace(traits.id.value, reporter);
  return {};
}

Result<> Streams::unsubscribe(uint64_t thread, StreamId stream_id) {
  PLAT_ASSIGN(stream, find_stream(stream_id));
  auto reporter = reporter_of(stream->traits().id);
  if (!reporter || reporter->thread() != thread)
    return fail(RuleId::SubscribeMissing, "threadId", "thread {:#x} does not serve the stream", thread);
  drop_subscription(stream->traits().id);
  scheduler_->drive();
  return {};
}

void Streams::drop_subscription(StreamId stream) {
  std::shared_ptr<Reporter> idle;
  {
    std::lock_guard lock(report_mutex_);
    auto found = subscriptions_.find(stream.value);
    if (found == subscriptions_.end()) return;
    std::shared_ptr<Reporter> reporter = std::move(found->second);
    subscriptions_.erase(found);
    if (--reporter->stream_count > 0) return;
    reporters_.erase(reporter->thread());
    idle = std::move(reporter);
  }
  idle->close();
}

Result<> Streams::process_reports(uint64_t thread, int32_t timeout_ms) {
  if (timeout_ms < -1 || timeout_ms == 0)
    return fail(RuleId::ReportTimeoutValue, "timeout", "timeout is {}", timeout_ms);
  std::shared_ptr<Reporter> reporter;
  {
    std::lock_guard lock(report_mutex_);
    if (auto found = reporters_.find(thread); found != reporters_.end()) reporter = found->second;
  }
  if (!reporter) return fail(RuleId::ReportThread, "", "thread {:#x} serves no stream", thread);
  Deadline deadline;
  if (timeout_ms > 0) deadline = Clock::now() + std::chrono::milliseconds(timeout_ms);
  if (!scheduler_->wait(
          reporter->gate(), [&] { return reporter->has_due() || reporter->closed(); }, deadline))
    return fail(RuleId::ReportTimeout, "timeout", "nothing was due within {} ms", timeout_ms);
  if (!reporter->has_due())
    return fail(RuleId::ReportThread, "", "thread {:#x} serves no stream any more", thread);
  auto returned = reporter->run_due();
  scheduler_->drive();
  return returned;
}

Result<> Streams::launch_callback(StreamId stream_id, void (*function)(void*), void* argument, bool blocks) {
  if (!function) return fail(RuleId::CallbackFunction, "fn", "fn is null");
  PLAT_ASSIGN(stream, find_for_work(stream_id));
  auto reporter = reporter_of(stream->traits().id);
  if (!reporter)
    return fail(RuleId::CallbackUnserved, "stream", "no thread serves stream {:#x}",
                stream->traits().id.value);
  PLAT_TRY(stream->push(CallbackStep{std::move(reporter), HostCall{function, argument}, blocks}));
  scheduler_->drive();
  return {};
}

}  // namespace plat::stream
