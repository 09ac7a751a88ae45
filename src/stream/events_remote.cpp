// SPDX-License-Identifier: Apache-2.0
// Events between processes.
#include <algorithm>

#include "rules/rules.h"
#include "stream/events.h"
#include "stream/streams.h"

namespace plat::stream {

namespace {

// How long a host thread waits for the bell of a board before it looks by itself: whether anybody rings
// depends on another process.
constexpr auto kRemoteLookAgain = std::chrono::milliseconds(100);
constexpr auto kLookAlone = std::chrono::milliseconds(1);

// What fits into the 8 bytes of a handle that are written: pid, place, and a sum over the rest.
constexpr int kPidShift = 42;
constexpr int kIndexShift = 32;

uint32_t sum_of(uint64_t secret, uint32_t generation) {
  const uint64_t mixed = (secret ^ generation) * 0x9e3779b97f4a7c15;
  return static_cast<uint32_t>(mixed >> 32);
}

}  // namespace

Result<uint64_t> Events::export_bits(EventId id) const {
  PLAT_ASSIGN(event, find(id));
  if (!event->is_shared() || event->is_imported())
    return fail(RuleId::EventNotShared, "event", "event {:#x} was {}", id.value,
                event->is_imported() ? "opened by a handle" : "created with other flags");
  const Board& board = event->place->board();
  return static_cast<uint64_t>(board.owner()) << kPidShift | uint64_t{event->place->index()} << kIndexShift |
         sum_of(board.secret(), event->place->generation());
}

Result<EventId> Events::import_bits(uint64_t bits) {
  PLAT_ASSIGN(context, streams_.contexts().current());
  const auto pid = static_cast<int32_t>(bits >> kPidShift);
  const auto index = static_cast<uint32_t>(bits >> kIndexShift) & ((1U << (kPidShift - kIndexShift)) - 1);
  if (const auto own = streams_.boards().own_if_any(); own && own->owner() == pid)
    return fail(RuleId::EventKeySelf, "handle", "process {} exported it", pid);
  const auto board = streams_.boards().of(pid, 0);
  if (!board) return fail(RuleId::EventKey, "handle", "process {} has ended, or cannot be seen", pid);
  const uint32_t generation = board->generation_of(Board::Kind::Event, index);
  auto place = sum_of(board->secret(), generation) == static_cast<uint32_t>(bits)
                   ? HeldPlace::hold(board, Board::Kind::Event, index, generation)
                   : nullptr;
  if (!place) return fail(RuleId::EventKey, "handle", "process {} has no such event", pid);
  auto event = table_.add([&](uint64_t id) {
    auto made = std::make_shared<Event>();
    made->id = EventId{id};
    made->kind = EventKind::Extended;
    made->flags = kEventIpc;
    made->device = static_cast<int>(place->device());
    made->place = place;
    return made;
  });
  if (event) return event->id;
  return fail(RuleId::EventLimit, "event", "there are no more events in this process");
}

Result<int> Events::device_of(EventId id) const {
  PLAT_ASSIGN(event, find(id));
  return event->device;
}

Result<> Events::wait_remote(Stream& stream, Event& event, uint32_t timeout_s) {
  const Board& board = event.place->board();
  const uint32_t number = board.recorded(event.place->index());
  if (board.is_reached(event.place->index(), number)) return {};
  event.waits->fetch_add(1);
  auto position = stream.push(RemoteWaitStep{event.place, number, timeout_s, event.waits});
  if (position) return {};
  event.waits->fetch_sub(1);
  return forward(std::move(position).error());
}

Result<> Events::synchronize_remote(Event& event, Deadline deadline, int32_t timeout_ms) {
  Board& board = event.place->board();
  const uint32_t index = event.place->index();
  const uint32_t number = board.recorded(index);
  const auto is_reached = [&] { return board.is_reached(index, number); };
  while (!is_reached()) {
    const bool is_told = board.listen();
    Clock::time_point until =
        Clock::now() + (is_told ? Clock::duration(kRemoteLookAgain) : Clock::duration(kLookAlone));
    if (deadline) until = std::min(until, *deadline);
    if (streams_.scheduler().wait(
            board.waiting_room(), [&] { return is_reached() || board.owner_is_gone(); }, until)) {
      if (is_reached()) return {};
      return fail(RuleId::EventKey, "event", "process {} ended before it reached the record", board.owner());
    }
    if (deadline && Clock::now() >= *deadline)
      return fail(RuleId::EventSyncTimeout, "timeout", "event {:#x} was not reached within {} ms",
                  event.id.value, timeout_ms);
  }
  return {};
}

}  // namespace plat::stream
