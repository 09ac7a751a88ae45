// SPDX-License-Identifier: Apache-2.0
// Board: what a process shows to others to synchronise with: notifies and records of events, each a few words
// in a memory file of its own. Other processes find the file by the process's number, map it, and change or
// read it.
//
// Whoever changes something rings the board's bell. A thread of each process that waits for something on a
// board sleeps on the bell, and then wakes the streams that are parked at the board, which look for
// themselves. A host thread that waits for such a stream of its own process listens in that thread's place
// (bell.h).
//
// A place is named by its index and a generation, so that one who remembers it too long changes nothing else.
// Other processes that use a place are marked in it, one bit each, as in the ledger of a device: the bit of
// one whose lock on the file is gone is nobody's, whatever ended the process.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"
#include "os/file.h"
#include "stream/bell.h"
#include "stream/waiting_room.h"

namespace plat::stream {

class Stream;

class Board {
 public:
  struct Place {
    uint32_t index = 0;
    uint32_t generation = 0;
  };
  enum class Kind : uint32_t { Free, Notify, Event };
  static constexpr uint32_t kNotifies = 16384;
  static constexpr uint32_t kEvents = 1024;
  static constexpr uint32_t kGuests = 256;  // other processes at a time, as many as a device takes

  // This process's own.
  static Result<std::shared_ptr<Board>> create();
  // That of another process; nullptr if it has none, is not to be seen, or has too many guests.
  static std::shared_ptr<Board> open(int32_t pid);
  ~Board();
  Board(const Board&) = delete;
  Board& operator=(const Board&) = delete;

  int32_t owner() const;
  uint64_t secret() const;  // the number of a process is given to another one day
  // Asks the system, whereas the next one tells what is known.
  bool owner_lives() const;
  // Whether the process whose board it is has ended, as far as the listening thread has noticed.
  bool owner_is_gone() const { return core_->owner_is_gone.load(); }

  // Places of this process's own board. Nothing when all are taken. One that others still hold is not taken
  // again before they let go of it.
  std::optional<Place> take_place(Kind kind, uint32_t device);
  void leave_place(Kind kind, uint32_t index);
  void open_to_all(uint32_t index);
  // False when there is no room for more numbers of processes.
  bool allow(uint32_t index, std::span<const int32_t> pids);

  // Places of another process's board. Holding one fails when it is no longer there.
  bool hold(Kind kind, uint32_t index, uint32_t generation);
  void let_go(Kind kind, uint32_t index);
  uint32_t generation_of(Kind kind, uint32_t index) const;
  bool is_allowed(uint32_t index, int32_t pid) const;
  uint32_t device_of(Kind kind, uint32_t index) const;

  // A notify's value. Changing it rings the bell.
  std::atomic<uint32_t>& value(uint32_t index);
  void ring() { core_->ring(); }
  // Of this process's own board: for host threads.
  std::weak_ptr<Bell> bell() const { return core_; }

  // An event's records are numbered from 1. A record is reached when its number, or a later one in its cell,
  // is.
  uint32_t recorded(uint32_t index) const;
  void set_recorded(uint32_t index, uint32_t number);
  bool is_reached(uint32_t index, uint32_t number) const;
  void reach(uint32_t index, uint32_t number);

  // The stream is woken once whenever the bell rings. False when no thread listens and none can be had: the
  // stream must look by itself.
  bool park(std::shared_ptr<Stream> stream);
  // Where host threads wait for the bell.
  WaitingRoom& waiting_room() { return core_->waiting_room; }
  bool listen();

  // After fork: gives up the file, and nothing else.
  void abandon_in_child();

 private:
  struct Layout;
  struct Unmap {
    void operator()(Layout* memory) const;
  };
  using Mapping = std::unique_ptr<Layout, Unmap>;
  // What the listening thread needs, and may have to outlive the rest: it can drop the last stream that uses
  // the board.
  struct Core final : Bell {
    Core(Mapping shared, bool is_own) : memory(std::move(shared)), own(is_own) {}
    Core(const Core&) = delete;
    Core& operator=(const Core&) = delete;
    void ring() const;      // for the process whose board it is
    void ring_all() const;  // for others, too
    void listen();

    bool attend() override;
    void leave() override;
    uint32_t heard() const override;
    void pass_on() override;
    void sleep(uint32_t heard, Deadline deadline) override;
    void rouse() override;

    const Mapping memory;
    const bool own;
    std::atomic<bool> owner_is_gone{false};
    std::atomic<bool> stopping{false};
    WaitingRoom waiting_room;
    std::mutex mutex;  // guards parked; no other lock is taken under it
    std::vector<std::shared_ptr<Stream>> parked;
  };

  Board(os::Fd file, Mapping memory, uint32_t guest);
  bool is_own() const { return guest_ == kGuests; }
  bool is_held(Kind kind, uint32_t index);

  os::Fd file_;
  const std::optional<os::FileIdentity> identity_;  // the program may close the file, and open another
  const uint32_t guest_;  // this process's number on the board; kGuests: it is its own
  const std::shared_ptr<Core> core_;
  Layout* const memory_;
  mutable std::mutex mutex_;  // guards the rest; no other lock is taken under it
  std::vector<uint32_t> free_pids_;
  uint32_t pids_used_ = 0;
  std::unordered_map<uint64_t, uint32_t> held_;  // how often this process holds a place of another's
  std::thread listener_;
};

// A place of a board, taken or held for as long as anything of this process uses it.
class HeldPlace {
 public:
  // Of this process's own board; nothing when all are taken.
  static std::shared_ptr<HeldPlace> take(std::shared_ptr<Board> board, Board::Kind kind, uint32_t device);
  // Of another's; nothing when it is no longer there.
  static std::shared_ptr<HeldPlace> hold(std::shared_ptr<Board> board, Board::Kind kind, uint32_t index,
                                         uint32_t generation);
  ~HeldPlace();
  HeldPlace(const HeldPlace&) = delete;
  HeldPlace& operator=(const HeldPlace&) = delete;

  Board& board() const { return *board_; }
  uint32_t index() const { return place_->index; }
  uint32_t generation() const { return place_->generation; }
  uint32_t device() const { return board_->device_of(kind_, index()); }
  bool is_own() const { return own_; }

 private:
  HeldPlace(std::shared_ptr<Board> board, Board::Kind kind, bool own)
      : board_(std::move(board)), kind_(kind), own_(own) {}

  const std::shared_ptr<Board> board_;
  const Board::Kind kind_;
  const bool own_;
  std::optional<Board::Place> place_;  // none before it is held: memory for this comes first
};

}  // namespace plat::stream
