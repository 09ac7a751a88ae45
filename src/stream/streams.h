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

#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "stream/current.h"
#include "stream/event.h"
#include "stream/handle_table.h"
#include "stream/ids.h"
#include "stream/notify.h"
#include "stream/report.h"
#include "stream/scheduler.h"
#include "stream/stream.h"

namespace plat::stream {

enum class Mode : uint8_t { Pool, Eager, Seeded };

struct Options {
  Mode mode = Mode::Pool;
  uint64_t seed = 0;
  unsigned workers = 0;         // 0: as many as the machine has processors, between 2 and 8
  uint32_t streams_max = 1984;  // of one device, default streams included
  uint32_t notifies_max = 8192;
  uint32_t events_max = 65536;  // of one device, but for those of create_event with EventKind::Extended
  int device_count = 64;        // ids from 0
};

// The value of PLAT_STREAMS: "pool", "eager", "seeded" or "seeded:N". Without N the seed is drawn.
Result<Options> parse_mode(std::string_view text);

// What the environment asks for. With a problem it is not understood, and no device can be set.
struct Setting {
  Options options;
  std::optional<Error> problem;
};
Setting read_setting();

inline constexpr size_t kNotifyKeyLength = 64;  // characters, without the null

enum class FailureMode : uint64_t { Continue = 0, Stop = 1 };
inline constexpr size_t kContextOptions = 3;  // that clients keep in a context
enum class Remaining : uint8_t { Finish, Discard };

class Streams {
 public:
  explicit Streams(const Setting& setting);
  explicit Streams(const Options& options) : Streams(Setting{options, std::nullopt}) {}
  ~Streams();
  Streams(const Streams&) = delete;
  Streams& operator=(const Streams&) = delete;

  const Options& options() const { return options_; }
  // Tells sets of streams apart: ids of one mean nothing in another.
  uint64_t serial() const { return serial_; }
  // What the product has, once it is known.
  void set_limits(uint32_t streams_max, uint32_t events_max, uint32_t notifies_max = UINT32_MAX) {
    streams_max_.store(streams_max);
    events_max_.store(events_max);
    notifies_max_.store(notifies_max);
  }

  // Told of streams that were made and that are about to go, default streams included. With no lock held. Set
  // before the first stream exists.
  enum class StreamState : uint8_t { Made, Going };
  void on_stream_state(std::function<void(StreamId, StreamState)> tell) { tell_ = std::move(tell); }

  // Told of each task that fails (FailurePolicy::on_task_failure). Set before the first stream exists.
  void on_task_failure(FailurePolicy::TaskFailed tell) { task_failed_ = std::move(tell); }

  // Devices and contexts. Each thread has a current context, and with it a device.
  Result<> set_device(int device);
  Result<> reset_device(int device);
  Result<> reset_device_force(int device);
  Result<int> current_device() const {
    if (const int device = known_device(); device >= 0) [[likely]]
      return device;
    return find_device();
  }
  // -1 when it must be looked up. A context that was there is there still, unless one was closed since.
  int known_device() const {
    const bool known = t_current.runtime == serial_ &&
                       t_current.closed_plus_one == contexts_closed_.load(std::memory_order_acquire) + 1;
    return known ? t_current.device : -1;
  }
  Result<ContextId> create_context(int device);
  Result<> destroy_context(ContextId id);
  Result<> set_current_context(ContextId id);
  Result<ContextId> current_context() const;
  Result<int> device_of(ContextId id) const;
  // Whether set_device counts for the device.
  bool is_set(int device) const;
  // Numbers that clients keep in the current context; nothing before they are set.
  Result<> set_context_option(size_t option, int64_t value);
  Result<std::optional<int64_t>> context_option(size_t option) const;
  // Whether any context of the process is left on the device.
  bool uses_device(int device) const;
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
  // A small number that no other live stream has.
  static uint32_t number_of(StreamId id) { return HandleTable<Stream>::slot_number(id.value); }
  // How many more streams and events the current device has room for.
  Result<uint32_t> streams_available() const;
  Result<uint32_t> events_available() const;
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

  // Events.
  Result<EventId> create_event(EventKind kind, uint32_t flags);
  Result<> destroy_event(EventId id);
  // No other live event has it.
  Result<uint32_t> event_number(EventId id) const;
  Result<> record(EventId id, StreamId stream);
  // Fixes the flag that the event is recorded with; another one is refused from then on.
  Result<> choose_record_flag(EventId id, uint32_t flag);
  Result<> reset_event(EventId id, StreamId stream);
  Result<> wait_event(StreamId stream, EventId id, int64_t timeout_s = 0);
  // The older query, which events of EventKind::Extended refuse, and the newer one.
  Result<bool> query_event(EventId id);
  Result<bool> query_event_status(EventId id);
  Result<bool> query_event_waits(EventId id);
  Result<> synchronize_event(EventId id, int32_t timeout_ms = -1);
  Result<float> elapsed_ms(EventId start, EventId end) const;
  Result<uint64_t> timestamp_us(EventId id) const;

  // Events between processes: a number for others, and the event of such a number. `bits` is all they need.
  Result<uint64_t> export_event(EventId id);
  Result<EventId> import_event(uint64_t bits);
  Result<int> device_of_event(EventId id) const;

  // Notifies. Counting ones are another kind of handle.
  Result<NotifyId> create_notify(NotifyUse use);
  Result<> destroy_notify(NotifyId id, bool counting);
  Result<> check_notify(NotifyId id, bool counting = false) const;
  Result<int> device_of_notify(NotifyId id) const;
  Result<uint32_t> notify_number(NotifyId id, bool counting) const;
  Result<> record_notify(NotifyId id, bool counting, StreamId stream, Notify::Change change, uint32_t value);
  Result<> wait_notify(NotifyId id, bool counting, StreamId stream, const Notify::Awaited& awaited,
                       uint32_t timeout_s);
  Result<> reset_notify(NotifyId id);
  // Between processes: a key for others, who may use it, and the notify of such a key. `bare_pid` is what
  // whitelists call this process.
  Result<std::string> export_notify(NotifyId id, bool open_to_all);
  Result<> allow_notify(NotifyId id, std::span<const int32_t> pids);
  Result<NotifyId> import_notify(std::string_view key, int32_t bare_pid);

  // After fork: gives up what other processes see.
  void abandon_in_child();

  // Callbacks that a thread of the client's runs. `thread` is the number by which the client names it.
  Result<> subscribe(uint64_t thread, StreamId stream);
  Result<> unsubscribe(uint64_t thread, StreamId stream);
  Result<> process_reports(uint64_t thread, int32_t timeout_ms);
  Result<> launch_callback(StreamId stream, void (*function)(void*), void* argument, bool blocks);

 private:
  Result<int> find_device() const;

  struct Context {
    ContextId id;
    int device = 0;
    bool is_default = false;
    StreamId default_stream;
    std::shared_ptr<FailurePolicy> failures = std::make_shared<FailurePolicy>();
    std::array<std::optional<int64_t>, kContextOptions> options;  // guarded by state_mutex_
  };
  struct DeviceState {
    ContextId default_context;
    uint32_t set_count = 0;
    uint32_t streams = 0;
    uint32_t events = 0;
    uint32_t notifies = 0;
  };

  Result<std::shared_ptr<Context>> current() const;
  Result<std::shared_ptr<Context>> make_context(int device, bool is_default);
  Result<std::shared_ptr<Stream>> make_stream(const Context& context, uint32_t priority, uint32_t flags,
                                              bool is_default);
  Result<> check_device(int device) const;
  void close_context(const std::shared_ptr<Context>& context, Remaining remaining);
  void close_contexts(Remaining remaining);
  Result<> release_device(int device, bool force);
  void close_stream(const std::shared_ptr<Stream>& stream, Remaining remaining);

  // A stream that host work may be queued on.
  Result<std::shared_ptr<Stream>> find_for_work(StreamId id) const;
  template <class Step>
  Result<Position> push(StreamId id, Step&& step);
  Result<> wait_for(Stream& stream, Position position, Deadline deadline) const;
  Result<std::shared_ptr<Event>> find_event(EventId id) const;
  Result<bool> query(Event& event);
  Result<> wait_remote(Stream& stream, Event& event, uint32_t timeout_s);
  Result<> synchronize_remote(Event& event, Deadline deadline, int32_t timeout_ms);
  Result<std::shared_ptr<Notify>> find_notify(NotifyId id, bool counting) const;
  Result<std::shared_ptr<Board>> own_board();
  std::shared_ptr<Board> own_board_if_any() const;
  // Of another process; the number is the board's own (Board::secret), 0 for whichever it has.
  std::shared_ptr<Board> board_of(int32_t pid, uint64_t secret);

  std::shared_ptr<Reporter> reporter_of(StreamId stream) const;
  void drop_subscription(StreamId stream);

  void tell(StreamId stream, StreamState state) const {
    if (tell_) tell_(stream, state);
  }

  const Options options_;
  const std::optional<Error> problem_;
  std::function<void(StreamId, StreamState)> tell_;
  FailurePolicy::TaskFailed task_failed_;
  const uint64_t serial_;                     // tells runtimes apart in what a thread remembers
  std::atomic<uint64_t> contexts_closed_{0};  // makes threads look again at what they remember
  std::unique_ptr<Scheduler> scheduler_;
  HandleTable<Context> contexts_{0x43};
  HandleTable<Stream> streams_{0x53};
  HandleTable<Event> events_{0x45};
  HandleTable<Notify> notifies_{0x4e};

  std::atomic<uint32_t> streams_max_;
  std::atomic<uint32_t> events_max_;
  std::atomic<uint32_t> notifies_max_;

  mutable std::mutex board_mutex_;  // guards the two below
  std::shared_ptr<Board> board_;
  std::vector<std::weak_ptr<Board>> foreign_boards_;

  std::mutex default_mutex_;        // orders making and dropping default contexts; taken before state_mutex_
  mutable std::mutex state_mutex_;  // guards devices_; never held while waiting for a stream
  std::map<int, DeviceState> devices_;

  mutable std::mutex report_mutex_;                                        // guards the two below
  std::unordered_map<uint64_t, std::shared_ptr<Reporter>> reporters_;      // by thread
  std::unordered_map<uint64_t, std::shared_ptr<Reporter>> subscriptions_;  // by stream
};

}  // namespace plat::stream
