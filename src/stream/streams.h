// SPDX-License-Identifier: Apache-2.0
// stream/: contexts, streams, events, and work that runs in their order. This is the set of them all, of
// which a process has one, in the runtime that owns it (acl/runtime.h).
//
// A stream is a queue: what it is given runs in order, and independently of other streams unless an event
// ties them. Whoever has work for the device (copies, fills, stores) wraps it in a Task and queues it:
//
//   PLAT_TRY(streams.enqueue(stream, [=]() -> Result<> { return copy(target, source, size); }));
//
// A task runs to its end in some thread; it checks what it needs at that moment, and an error it returns
// sticks to the stream until the stream is next synchronised. What must wait for memory to change is a Poll
// instead.
//
// Knows nothing of memory: of device/ it uses the settings, the report of failures and the delays of a fault
// plan. Never throws across its interface and never follows a handle: ids that are stale, foreign or made up
// are answered with a rule.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/result.h"
#include "stream/boards.h"
#include "stream/callbacks.h"
#include "stream/contexts.h"
#include "stream/events.h"
#include "stream/handle_table.h"
#include "stream/ids.h"
#include "stream/notifies.h"
#include "stream/options.h"
#include "stream/quota.h"
#include "stream/scheduler.h"
#include "stream/stream.h"

namespace plat::stream {

enum class FailureMode : uint64_t { Continue = 0, Stop = 1 };
enum class Remaining : uint8_t { Finish, Discard };

class Streams {
 public:
  explicit Streams(const Setting& setting);
  explicit Streams(const Options& options) : Streams(Setting{options, std::nullopt}) {}
  ~Streams();
  Streams(const Streams&) = delete;
  Streams& operator=(const Streams&) = delete;

  const Options& options() const { return options_; }
  // What the product has, once it is known.
  void set_limits(uint32_t streams_max, uint32_t events_max, uint32_t notifies_max = UINT32_MAX) {
    quota_.set_max(streams_max);
    events_.set_max(events_max);
    notifies_.set_max(notifies_max);
  }

  // The parts, which do the rest.
  Contexts& contexts() { return contexts_; }
  const Contexts& contexts() const { return contexts_; }
  Events& events() { return events_; }
  Notifies& notifies() { return notifies_; }
  Callbacks& callbacks() { return callbacks_; }
  Boards& boards() { return boards_; }
  Scheduler& scheduler() const { return *scheduler_; }

  // Told of streams that were made and that are about to go, default streams included. With no lock held. Set
  // before the first stream exists.
  enum class StreamState : uint8_t { Made, Going };
  void on_stream_state(std::function<void(StreamId, StreamState)> tell) { tell_ = std::move(tell); }

  // Told of each task that fails (FailurePolicy::on_task_failure). Set before the first stream exists.
  void on_task_failure(FailurePolicy::TaskFailed tell) { task_failed_ = std::move(tell); }

  // Devices and contexts, with the default streams that they bring (contexts.h has the rest).
  Result<> set_device(int device);
  Result<> reset_device(int device) { return release_device(device, false); }
  Result<> reset_device_force(int device) { return release_device(device, true); }
  Result<ContextId> create_context(int device);
  Result<> destroy_context(ContextId id);
  // Waits until every stream has done what it was given; errors stay with their streams. False when the
  // deadline passed first.
  bool drain(Deadline deadline) const;
  // Closes every context of every device, once the work that is queued has run.
  void finish();
  // Drops everything, work that is queued included.
  void shutdown();

  // Streams. An id of 0 is the default stream of the current context.
  Result<StreamId> default_stream() const;
  Result<StreamId> create_stream(uint32_t priority, uint32_t flags);
  Result<> destroy_stream(StreamId id, Remaining remaining);
  Result<> synchronize(StreamId id, int32_t timeout_ms = -1);
  Result<> synchronize_device(int32_t timeout_ms = -1);
  Result<bool> is_complete(StreamId id);
  Result<> set_failure_mode(StreamId id, uint64_t mode);
  Result<bool> stops_on_failure(StreamId id) const;
  // Gives up the stream's work, or ends what it waits for at its head.
  Result<> abort_stream(StreamId id);
  Result<> stop_stream(StreamId id);
  // Gives up the work of all streams of a device. 0 milliseconds: for as long as it takes.
  Result<> abort_device(int device, uint32_t timeout_ms);
  // A stream of the current context; and one of whichever context, where 0 is the default stream of the
  // current one.
  Result<std::shared_ptr<Stream>> find_stream(StreamId id) const;
  Result<std::shared_ptr<Stream>> any_stream(StreamId id) const;
  // A stream of the current context that host work may be queued on.
  Result<std::shared_ptr<Stream>> find_for_work(StreamId id) const;
  // A small number that no other live stream has.
  static uint32_t number_of(StreamId id) { return HandleTable<Stream>::slot_number(id.value); }
  // How many more the current device has room for.
  Result<uint32_t> available() const;
  // The id that stands behind 0, checked against the current context.
  Result<StreamId> resolve(StreamId id) const;

  // Work.
  Result<Position> enqueue(StreamId id, Task&& task);
  Result<Position> enqueue_poll(StreamId id, Poll&& poll);
  Result<Position> launch_host_function(StreamId id, void (*function)(void*), void* argument);

  // Order, for memory that is reused across streams. Both are about work given so far, and hold for ever once
  // true.
  //
  // Whether what the stream was given up to the position has completed; also when the stream is gone.
  bool has_completed(StreamId id, Position position) const;
  // Whether anything that `later` is given from now on runs after that: because it has completed, because it
  // is the same stream, or because `later` was made to wait for it, directly or through other streams.
  bool runs_after(StreamId later, StreamId id, Position position) const;
  // How much the stream was given so far.
  Result<Position> position(StreamId id) const;

 private:
  Result<std::shared_ptr<Context>> make_context(int device, bool is_default);
  Result<std::shared_ptr<Stream>> make_stream(const Context& context, uint32_t priority, uint32_t flags,
                                              bool is_default);
  void close_context(const std::shared_ptr<Context>& context, Remaining remaining);
  void close_contexts(Remaining remaining);
  Result<> release_device(int device, bool force);
  void close_stream(const std::shared_ptr<Stream>& stream, Remaining remaining);

  template <class Step>
  Result<Position> push(StreamId id, Step&& step);
  Result<> wait_for(Stream& stream, Position position, Deadline deadline) const;

  void tell(StreamId stream, StreamState state) const {
    if (tell_) tell_(stream, state);
  }

  const Options options_;
  std::function<void(StreamId, StreamState)> tell_;
  FailurePolicy::TaskFailed task_failed_;
  Contexts contexts_;
  std::unique_ptr<Scheduler> scheduler_;
  Quota quota_;
  HandleTable<Stream> streams_{0x53};
  std::mutex failure_mutex_;  // one change of a failure mode at a time
  Boards boards_;
  Events events_;
  Notifies notifies_;
  Callbacks callbacks_;
};

}  // namespace plat::stream
