// SPDX-License-Identifier: Apache-2.0
// Events: creation, records, waits, queries, time.
#include "stream/events.h"

#include <algorithm>
#include <utility>

#include "rules/rules.h"
#include "stream/streams.h"

namespace plat::stream {
namespace {

constexpr uint32_t kPlainFlags = kEventProgress | kEventSyncBlocking | kEventTimeLine;
constexpr uint32_t kFlaggedMask = 0x3f;
constexpr uint32_t kExtendedMask =
    kEventSync | kEventProgress | kEventSyncBlocking | kEventTimeLine | kEventIpc;

Result<> check_flags(EventKind kind, uint32_t flags) {
  const uint32_t mask = kind == EventKind::Extended ? kExtendedMask : kFlaggedMask;
  if ((flags & mask) == 0 || (flags & ~mask) != 0)
    return fail(RuleId::EventFlags, "flag", "flag is {:#x}", flags);
  for (const uint32_t alone : {kEventDeviceOnly, kEventExternal, kEventIpc}) {
    if ((flags & alone) != 0 && flags != alone)
      return fail(RuleId::EventFlags, "flag", "flag is {:#x}", flags);
  }
  if (flags == kEventExternal) return fail(RuleId::EventFlagSupport, "flag", "flag is {:#x}", flags);
  return {};
}

Result<> check_host_use(const Event& event) {
  if (event.device_only())
    return fail(RuleId::EventDeviceOnly, "event", "event {:#x} was created with flag 0x10", event.id.value);
  return {};
}

}  // namespace

Events::Events(Streams& streams, uint32_t max)
    : streams_(streams), quota_(max, {RuleId::EventLimit, "event", "events"}) {}

Result<uint32_t> Events::available() const {
  PLAT_ASSIGN(context, streams_.contexts().current());
  return quota_.left(context->device);
}

Result<std::shared_ptr<Event>> Events::find(EventId id) const {
  if (auto event = table_.find(id.value)) return event;
  return fail(RuleId::EventHandle, "event", "{:#x} is no live event", id.value);
}

Result<EventId> Events::create(EventKind kind, uint32_t flags) {
  if (kind == EventKind::Plain) {
    flags = kPlainFlags;
  } else {
    PLAT_TRY(check_flags(kind, flags));
  }
  PLAT_ASSIGN(context, streams_.contexts().current());
  std::shared_ptr<HeldPlace> place;
  if (flags == kEventIpc) {
    PLAT_ASSIGN(board, streams_.boards().own());
    place = HeldPlace::take(board, Board::Kind::Event, static_cast<uint32_t>(context->device));
    if (!place) return fail(RuleId::EventShareLimit, "event", "there are {} such events", Board::kEvents);
  }
  const bool counted = kind != EventKind::Extended;
  const auto make = [&] {
    return table_.add([&](uint64_t id) {
      auto made = std::make_shared<Event>();
      made->id = EventId{id};
      made->kind = kind;
      made->flags = flags;
      made->device = context->device;
      made->counted = counted;
      made->place = place;
      return made;
    });
  };
  PLAT_ASSIGN(event,
              counted ? quota_.take_for(context->device, make) : Result<std::shared_ptr<Event>>(make()));
  if (event) return event->id;
  return fail(RuleId::EventLimit, "event", "there are no more events in this process");
}

Result<> Events::destroy(EventId id) {
  auto event = table_.remove(id.value);
  if (!event) return fail(RuleId::EventHandle, "event", "{:#x} is no live event", id.value);
  std::shared_ptr<Mark> expected;
  {
    std::lock_guard lock(event->mutex);
    expected = std::exchange(event->expected, nullptr);
  }
  if (expected) expected->complete({});  // No record can come any more; who waits for one goes on.
  if (event->counted) quota_.give_back(event->device);
  streams_.scheduler().drive();
  return {};
}

void Events::destroy_all() {
  for (auto& event : table_.all()) (void)destroy(event->id);
}

Result<uint32_t> Events::number(EventId id) const {
  PLAT_ASSIGN(event, find(id));
  if (event->is_shared())
    return fail(RuleId::EventNumberless, "event", "event {:#x} is one between processes", id.value);
  return table_.slot_number(event->id.value);
}

Result<> Events::record(EventId id, StreamId stream_id) {
  PLAT_ASSIGN(event, find(id));
  PLAT_TRY(check_host_use(*event));
  if (event->is_imported())
    return fail(RuleId::EventImported, "event", "event {:#x} is of process {}", id.value,
                event->place->board().owner());
  PLAT_ASSIGN(stream, streams_.find_for_work(stream_id));
  {
    std::lock_guard lock(event->mutex);
    auto mark = event->expected ? event->expected : std::make_shared<Mark>();
    mark->bind(stream, stream->history());
    uint32_t number = 0;
    if (event->place) {
      number = event->place->board().recorded(event->place->index()) + 1;
      mark->announce_at(event->place, number);
    }
    PLAT_ASSIGN(position, stream->push(RecordStep{mark}));
    mark->place(position);
    if (event->place) event->place->board().set_recorded(event->place->index(), number);
    event->expected = nullptr;
    event->recorded = std::move(mark);
  }
  streams_.scheduler().drive();
  return {};
}

Result<> Events::choose_record_flag(EventId id, uint32_t flag) {
  PLAT_ASSIGN(event, find(id));
  uint32_t chosen = 0;
  if (event->record_flag_plus_one.compare_exchange_strong(chosen, flag + 1) || chosen == flag + 1) return {};
  return fail(RuleId::EventRecordMixed, "flag", "flag is {}, and the event was recorded with {}", flag,
              chosen - 1);
}

Result<> Events::reset(EventId id, StreamId stream_id) {
  PLAT_ASSIGN(event, find(id));
  PLAT_TRY(check_host_use(*event));
  if (event->kind == EventKind::Extended || !event->may_be_waited_on())
    return fail(RuleId::EventResettable, "event", "event {:#x} was created with flags {:#x}", id.value,
                event->flags);
  PLAT_ASSIGN(stream, streams_.find_for_work(stream_id));
  {
    std::lock_guard lock(event->mutex);
    // Waits that were queued before hold the mark they wait for, so forgetting it here cannot overtake them.
    PLAT_TRY(stream->push(NoStep{}));
    event->recorded = nullptr;
  }
  streams_.scheduler().drive();
  return {};
}

Result<> Events::wait(StreamId stream_id, EventId id, int64_t timeout_s) {
  if (timeout_s < 0) return fail(RuleId::StreamTimeoutValue, "timeout", "timeout is {}", timeout_s);
  PLAT_ASSIGN(event, find(id));
  PLAT_TRY(check_host_use(*event));
  if (!event->may_be_waited_on())
    return fail(RuleId::EventWaitable, "event", "event {:#x} was created with flags {:#x}", id.value,
                event->flags);
  PLAT_ASSIGN(stream, streams_.find_for_work(stream_id));
  if (event->is_imported()) {
    PLAT_TRY(wait_remote(*stream, *event, static_cast<uint32_t>(std::min<int64_t>(timeout_s, UINT32_MAX))));
    streams_.scheduler().drive();
    return {};
  }
  std::shared_ptr<Mark> mark;
  bool recorded = true;
  {
    std::lock_guard lock(event->mutex);
    mark = event->recorded;
    if (!mark && event->kind == EventKind::Flagged) {
      if (!event->expected) event->expected = std::make_shared<Mark>();
      mark = event->expected;
      recorded = false;
    }
  }
  if (!mark) return {};  // Nothing was recorded, so there is nothing to wait for.
  if (!mark->done()) {
    event->waits->fetch_add(1);
    auto position = stream->push(WaitStep{mark, std::chrono::seconds(timeout_s), event->waits});
    if (!position) {
      event->waits->fetch_sub(1);
      return forward(std::move(position).error());
    }
  }
  // Only now: what another thread queues before the wait is not after the mark. A wait that may give up
  // proves nothing.
  if (recorded && timeout_s == 0) {
    stream->run_after(
        mark->history(), {mark->stream()->traits().id, mark->position()},
        [this](const History::Entry& entry) { return streams_.has_completed(entry.stream, entry.position); });
  }
  streams_.scheduler().drive();
  return {};
}

// An event without a record is complete if it may be recorded at any time, and not ready if a record is
// awaited.
bool Events::is_reached(const Event& event) const {
  streams_.scheduler().drive_for_query();
  if (event.is_imported()) {
    const Board& board = event.place->board();
    return board.is_reached(event.place->index(), board.recorded(event.place->index()));
  }
  const auto mark = event.last();
  return mark ? mark->done() : event.kind == EventKind::Extended;
}

Result<bool> Events::query(EventId id) {
  PLAT_ASSIGN(event, find(id));
  if (event->kind == EventKind::Extended)
    return fail(RuleId::EventQueryable, "event", "event {:#x} was created by aclrtCreateEventExWithFlag",
                id.value);
  return is_reached(*event);
}

Result<bool> Events::query_status(EventId id) {
  PLAT_ASSIGN(event, find(id));
  return is_reached(*event);
}

Result<bool> Events::query_waits(EventId id) {
  PLAT_ASSIGN(event, find(id));
  if (event->kind == EventKind::Extended || !event->may_be_waited_on())
    return fail(RuleId::EventQueryable, "event", "event {:#x} was created with flags {:#x}", id.value,
                event->flags);
  streams_.scheduler().drive_for_query();
  return event->waits->load() == 0;
}

Result<> Events::synchronize(EventId id, int32_t timeout_ms) {
  if (timeout_ms < -1 || timeout_ms == 0)
    return fail(RuleId::StreamTimeoutValue, "timeout", "timeout is {}", timeout_ms);
  PLAT_ASSIGN(event, find(id));
  if (event->is_imported())
    return synchronize_remote(
        *event, timeout_ms > 0 ? Deadline{Clock::now() + std::chrono::milliseconds(timeout_ms)} : Deadline{},
        timeout_ms);
  const auto mark = event->last();
  if (!mark) {
    if (event->kind == EventKind::Extended) return {};
    return fail(RuleId::EventNotRecorded, "event", "event {:#x} was not recorded, or reset since", id.value);
  }
  if (mark->done()) return {};
  Stream& stream = *mark->stream();
  if (mark->is_lost()) return forward(stream.abort_error());
  if (stream.runs_here())
    return fail(RuleId::StreamSelfWait, "event", "the event is in the stream of the function that calls");
  Deadline deadline;
  if (timeout_ms > 0) deadline = Clock::now() + std::chrono::milliseconds(timeout_ms);
  if (streams_.scheduler().wait(
          stream.waiting_room(), [&] { return stream.completed() >= mark->position(); }, deadline)) {
    if (mark->is_lost()) return forward(stream.abort_error());
    return {};
  }
  return fail(RuleId::EventSyncTimeout, "timeout", "event {:#x} was not reached within {} ms", id.value,
              timeout_ms);
}

namespace {

Result<Clock::time_point> time_of(const Event& event, const char* parameter) {
  const auto mark = event.last();
  if (!event.keeps_time())
    return fail(RuleId::EventTime, parameter, "event {:#x} was created with flags {:#x}", event.id.value,
                event.flags);
  if (!mark || !mark->done() || mark->time() == Clock::time_point{})
    return fail(RuleId::EventTime, parameter, "event {:#x} was {}", event.id.value,
                mark ? "recorded but not reached" : "not recorded");
  return mark->time();
}

}  // namespace

Result<float> Events::elapsed_ms(EventId start, EventId end) const {
  PLAT_ASSIGN(first, find(start));
  PLAT_ASSIGN(last, find(end));
  PLAT_ASSIGN(from, time_of(*first, "startEvent"));
  PLAT_ASSIGN(to, time_of(*last, "endEvent"));
  if (to < from)
    return fail(RuleId::EventTimeOrder, "endEvent", "event {:#x} was reached {} ns before event {:#x}",
                end.value, std::chrono::nanoseconds(from - to).count(), start.value);
  return std::chrono::duration<float, std::milli>(to - from).count();
}

Result<uint64_t> Events::timestamp_us(EventId id) const {
  PLAT_ASSIGN(event, find(id));
  PLAT_ASSIGN(time, time_of(*event, "event"));
  return std::chrono::duration_cast<std::chrono::microseconds>(time.time_since_epoch()).count();
}

}  // namespace plat::stream
