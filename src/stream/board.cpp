// SPDX-License-Identifier: Apache-2.0
#include "stream/board.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "os/doorbell.h"
#include "os/memory.h"
#include "os/process.h"
#include "os/signal_chain.h"
#include "os/thread_sanitizer.h"
#include "rules/rules.h"
#include "stream/stream.h"

namespace plat::stream {

namespace {

constexpr const char* kFileName = "plat-board";
constexpr uint64_t kMagic = 0x32'64'72'61'6f'62'2d'70;  // "p-board2"
constexpr uint32_t kCells = 8192;
constexpr uint32_t kPids = 65536;
// How often a thread that waits for another process looks whether that is still there.
constexpr auto kLookForOwner = std::chrono::milliseconds(500);
// Who sleeps on a bell: the owner's listening thread, or a host thread of the owner that took its place.
// Those of other processes are woken in any case.
constexpr uint32_t kListener = 1;
constexpr uint32_t kAttendant = 2;
constexpr uint32_t kBitsOfWord = 64;

uint64_t key_of(Board::Kind kind, uint32_t index) {
  return uint64_t{static_cast<uint32_t>(kind)} << 32 | index;
}
uint64_t bit_of(uint32_t guest) { return uint64_t{1} << guest % kBitsOfWord; }

}  // namespace

struct Board::Layout {
  struct Slot {
    std::atomic<uint32_t> kind;
    std::atomic<uint32_t> generation;
    std::atomic<uint32_t> device;
    std::atomic<uint32_t> value;  // of a notify; the last record of an event
    std::atomic<uint32_t> open_to_all;
    std::atomic<uint32_t> pids;  // the first, from 1
    std::atomic<uint32_t> spare;
    std::array<std::atomic<uint64_t>, kGuests / kBitsOfWord> holders;  // a bit a guest

    std::atomic<uint64_t>& holders_with(uint32_t guest) { return holders[guest / kBitsOfWord]; }
  };
  struct Pid {
    std::atomic<int32_t> pid;
    std::atomic<uint32_t> next;
  };

  uint64_t magic;
  uint64_t secret;
  int32_t pid;
  uint64_t start_time;
  alignas(64) std::atomic<uint32_t> bell;
  std::atomic<uint32_t> listeners;
  std::atomic<uint32_t> attended;  // a host thread of the owner listens
  alignas(64) std::array<Slot, kNotifies> notifies;
  std::array<Slot, kEvents> events;
  std::array<Pid, kPids> pids;
  std::array<std::array<std::atomic<uint32_t>, kCells>, kEvents> cells;

  Slot& slot(Kind which, uint32_t index) { return which == Kind::Event ? events[index] : notifies[index]; }

  // The number of a new guest, whose lock is held by the open file from now on. The bits of one who had the
  // number before and died are cleared first.
  std::optional<uint32_t> take_guest(int fd) {
    for (uint32_t guest = 0; guest < kGuests; ++guest) {
      if (os::try_lock_byte(fd, guest) != 0) continue;
      for (Slot& each : notifies) each.holders_with(guest).fetch_and(~bit_of(guest));
      for (Slot& each : events) each.holders_with(guest).fetch_and(~bit_of(guest));
      return guest;
    }
    return std::nullopt;
  }
};

void Board::Unmap::operator()(Layout* memory) const {
  os::unmap(reinterpret_cast<std::byte*>(memory), sizeof(Layout));
}

// tests/model/bell_test.cpp has this in small: no order here can be weaker.
void Board::Core::ring() const {
  memory->bell.fetch_add(1);
  if (memory->attended.load() != 0)
    os::wake_sleepers(memory->bell, kAttendant);
  else if (memory->listeners.load() > 0)
    os::wake_sleepers(memory->bell, kListener);
}

void Board::Core::ring_all() const {
  memory->bell.fetch_add(1);
  if (memory->listeners.load() > 0) os::wake_sleepers(memory->bell);
}

bool Board::Core::attend() {
  uint32_t nobody = 0;
  // Who does not see it yet calls the listening thread, which is there all the same.
  return memory->attended.compare_exchange_strong(nobody, 1, std::memory_order_relaxed);
}

// Who rang since this thread looked last may have called it and nobody else.
void Board::Core::leave() {
  memory->attended.store(0);
  const std::lock_guard lock(mutex);
  if (!parked.empty()) os::wake_sleepers(memory->bell, kListener);
}

uint32_t Board::Core::heard() const { return memory->bell.load(std::memory_order_acquire); }

void Board::Core::pass_on() {
  std::vector<std::shared_ptr<Stream>> streams;
  {
    const std::lock_guard lock(mutex);
    streams.swap(parked);
  }
  for (auto& stream : streams) stream->wake_here();
}

void Board::Core::sleep(uint32_t heard, Deadline deadline) {
  if (!deadline) return os::sleep_on(memory->bell, heard, std::nullopt, kAttendant);
  os::sleep_on(memory->bell, heard, std::max(*deadline - Clock::now(), Clock::duration::zero()), kAttendant);
}

void Board::Core::rouse() {
  // Whoever hears it sees what was completed before.
  memory->bell.fetch_add(1, std::memory_order_release);
  os::wake_sleepers(memory->bell, kAttendant);
}

void Board::Core::listen() {
  os::unblock_faults();
  const os::tsan::Unwatched unwatched;
  memory->listeners.fetch_add(1);
  while (!stopping.load()) {
    const uint32_t heard = memory->bell.load(std::memory_order_acquire);
    pass_on();
    waiting_room.notify();
    if (own) {
      os::sleep_on(memory->bell, heard, std::nullopt, kListener);
      continue;
    }
    os::sleep_on(memory->bell, heard, kLookForOwner);
    if (os::start_time_of(memory->pid) != memory->start_time) owner_is_gone.store(true);
  }
  memory->listeners.fetch_sub(1);
}

Board::Board(os::Fd file, Mapping memory, uint32_t guest)
    : file_(std::move(file)),
      identity_(os::identify(file_.get())),
      guest_(guest),
      core_(std::make_shared<Core>(std::move(memory), is_own())),
      memory_(core_->memory.get()) {}

Board::~Board() {
  core_->stopping.store(true);
  if (!listener_.joinable()) return;
  core_->ring_all();
  if (listener_.get_id() == std::this_thread::get_id())
    listener_.detach();
  else
    listener_.join();
}

Result<std::shared_ptr<Board>> Board::create() {
  os::Fd file = os::move_high(os::create_memory_file(kFileName, sizeof(Layout)));
  Mapping memory(file ? reinterpret_cast<Layout*>(os::map_shared(file.get(), 0, sizeof(Layout))) : nullptr);
  if (memory == nullptr)
    return fail(RuleId::DeviceLimits, "", "no memory to be shared with other processes: {}",
                std::strerror(errno));
  const os::ProcessIdentity self = os::this_process();
  memory->secret = os::random_number();
  memory->pid = self.pid;
  memory->start_time = self.start_time;
  memory->magic = kMagic;
  return std::shared_ptr<Board>(new Board(std::move(file), std::move(memory), kGuests));
}

std::shared_ptr<Board> Board::open(int32_t pid) {
  Mapping memory;
  std::optional<uint32_t> guest;
  const os::Fd file = os::find_memory_file(pid, kFileName, [&](int fd) {
    const auto identity = os::identify(fd);
    if (!identity || identity->size_bytes != sizeof(Layout)) return false;
    memory.reset(reinterpret_cast<Layout*>(os::map_shared(fd, 0, sizeof(Layout))));
    if (memory == nullptr) return false;
    // A child keeps the files of its parent open; and a number is given to another process one day.
    if (memory->magic == kMagic && memory->pid == pid && memory->start_time == os::start_time_of(pid) &&
        (guest = memory->take_guest(fd)))
      return true;
    memory.reset();
    return false;
  });
  if (memory == nullptr) return nullptr;
  return std::shared_ptr<Board>(
      new Board({}, std::move(memory), *guest));  // the mapping keeps the file open, and locked
}

int32_t Board::owner() const { return memory_->pid; }
uint64_t Board::secret() const { return memory_->secret; }
bool Board::owner_lives() const {
  return os::start_time_of(memory_->pid) == memory_->start_time && !os::process_is_gone(memory_->pid);
}

std::optional<Board::Place> Board::take_place(Kind kind, uint32_t device) {
  const std::lock_guard lock(mutex_);
  const uint32_t count = kind == Kind::Event ? kEvents : kNotifies;
  for (uint32_t index = 0; index < count; ++index) {
    Layout::Slot& slot = memory_->slot(kind, index);
    if (slot.kind.load() != static_cast<uint32_t>(Kind::Free) || is_held(kind, index)) continue;
    slot.generation.fetch_add(1);
    slot.device.store(device);
    slot.value.store(0);
    slot.open_to_all.store(0);
    for (uint32_t at = slot.pids.exchange(0); at != 0; at = memory_->pids[at - 1].next.load())
      free_pids_.push_back(at);
    if (kind == Kind::Event)
      for (auto& cell : memory_->cells[index]) cell.store(0, std::memory_order_relaxed);
    slot.kind.store(static_cast<uint32_t>(kind));
    return Place{index, slot.generation.load()};
  }
  return std::nullopt;
}

bool Board::is_held(Kind kind, uint32_t index) {
  Layout::Slot& slot = memory_->slot(kind, index);
  for (uint32_t guest = 0; guest < kGuests; ++guest) {
    if ((slot.holders_with(guest).load() & bit_of(guest)) == 0) continue;
    if (os::identify(file_.get()) != identity_) return true;  // nobody can be asked
    if (os::try_lock_byte(file_.get(), guest) != 0) return true;
    slot.holders_with(guest).fetch_and(~bit_of(guest));  // nobody else becomes that guest meanwhile
    os::unlock_byte(file_.get(), guest);
  }
  return false;
}

void Board::leave_place(Kind kind, uint32_t index) {
  memory_->slot(kind, index).kind.store(static_cast<uint32_t>(Kind::Free));
}

void Board::open_to_all(uint32_t index) { memory_->notifies[index].open_to_all.store(1); }

bool Board::allow(uint32_t index, std::span<const int32_t> pids) {
  const std::lock_guard lock(mutex_);
  if (pids.size() > free_pids_.size() + (kPids - pids_used_)) return false;
  free_pids_.reserve(pids_used_ + pids.size());  // all of them come back one day, and then need no memory
  Layout::Slot& slot = memory_->notifies[index];
  for (const int32_t pid : pids) {
    uint32_t at = 0;
    if (free_pids_.empty()) {
      at = ++pids_used_;
    } else {
      at = free_pids_.back();
      free_pids_.pop_back();
    }
    memory_->pids[at - 1].pid.store(pid);
    memory_->pids[at - 1].next.store(slot.pids.load());
    slot.pids.store(at);
  }
  return true;
}

bool Board::hold(Kind kind, uint32_t index, uint32_t generation) {
  if (index >= (kind == Kind::Event ? kEvents : kNotifies)) return false;
  Layout::Slot& slot = memory_->slot(kind, index);
  const std::lock_guard lock(mutex_);
  const auto held = held_.try_emplace(key_of(kind, index), 0).first;
  // First a holder, then a look: the owner frees it first, then looks for holders.
  slot.holders_with(guest_).fetch_or(bit_of(guest_));
  const bool is_there =
      slot.kind.load() == static_cast<uint32_t>(kind) && slot.generation.load() == generation;
  if (is_there) ++held->second;
  if (held->second > 0) return is_there;
  held_.erase(held);
  slot.holders_with(guest_).fetch_and(~bit_of(guest_));
  return false;
}

void Board::let_go(Kind kind, uint32_t index) {
  const std::lock_guard lock(mutex_);
  const auto held = held_.find(key_of(kind, index));
  if (--held->second > 0) return;
  held_.erase(held);
  memory_->slot(kind, index).holders_with(guest_).fetch_and(~bit_of(guest_));
}

uint32_t Board::generation_of(Kind kind, uint32_t index) const {
  return memory_->slot(kind, index).generation.load();
}

bool Board::is_allowed(uint32_t index, int32_t pid) const {
  const Layout::Slot& slot = memory_->notifies[index];
  if (slot.open_to_all.load() != 0) return true;
  uint32_t at = slot.pids.load();
  for (uint32_t steps = 0; at != 0 && at <= kPids && steps < kPids; ++steps) {
    const Layout::Pid& entry = memory_->pids[at - 1];
    if (entry.pid.load() == pid) return true;
    at = entry.next.load();
  }
  return false;
}

uint32_t Board::device_of(Kind kind, uint32_t index) const {
  return memory_->slot(kind, index).device.load();
}

std::atomic<uint32_t>& Board::value(uint32_t index) { return memory_->notifies[index].value; }

uint32_t Board::recorded(uint32_t index) const { return memory_->events[index].value.load(); }
void Board::set_recorded(uint32_t index, uint32_t number) { memory_->events[index].value.store(number); }

bool Board::is_reached(uint32_t index, uint32_t number) const {
  if (number == 0) return true;
  const uint32_t latest = memory_->cells[index][number % kCells].load();
  return latest != 0 && static_cast<int32_t>(latest - number) >= 0;
}

void Board::reach(uint32_t index, uint32_t number) {
  auto& cell = memory_->cells[index][number % kCells];
  uint32_t latest = cell.load();
  while ((latest == 0 || static_cast<int32_t>(number - latest) > 0) &&
         !cell.compare_exchange_weak(latest, number)) {
  }
  core_->ring_all();
}

bool Board::listen() {
  const std::lock_guard lock(mutex_);
  if (listener_.joinable()) return true;
  try {
    listener_ = std::thread([core = core_] { core->listen(); });
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

bool Board::park(std::shared_ptr<Stream> stream) {
  {
    const std::lock_guard lock(core_->mutex);
    auto& parked = core_->parked;
    if (std::find(parked.begin(), parked.end(), stream) == parked.end()) parked.push_back(std::move(stream));
  }
  return listen();
}

void Board::abandon_in_child() { file_ = {}; }

std::shared_ptr<HeldPlace> HeldPlace::take(std::shared_ptr<Board> board, Board::Kind kind, uint32_t device) {
  const std::shared_ptr<HeldPlace> taken(new HeldPlace(std::move(board), kind, true));
  taken->place_ = taken->board().take_place(kind, device);
  return taken->place_ ? taken : nullptr;
}

std::shared_ptr<HeldPlace> HeldPlace::hold(std::shared_ptr<Board> board, Board::Kind kind, uint32_t index,
                                           uint32_t generation) {
  std::shared_ptr<HeldPlace> held(new HeldPlace(std::move(board), kind, false));
  if (!held->board().hold(kind, index, generation)) return nullptr;
  held->place_ = {index, generation};
  return held;
}

HeldPlace::~HeldPlace() {
  if (!place_) return;
  if (own_)
    board_->leave_place(kind_, place_->index);
  else
    board_->let_go(kind_, place_->index);
}

}  // namespace plat::stream
