// SPDX-License-Identifier: Apache-2.0
// Notify: a number that streams set and wait for. The plain kind is 0 or 1: a record sets it, a wait takes
// it. The counting kind is changed and compared in several ways.
//
// It lives in this process until it is shown to others; then its number stands on the board (board.h). One
// that was imported stands on the board of another process, and can only be recorded.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "stream/board.h"
#include "stream/ids.h"

namespace plat::stream {

class Stream;

// What a notify is created for.
enum class NotifyUse : uint8_t { Plain, DeviceOnly, Counting };

class Notify {
 public:
  enum class Change : uint8_t { Set, Add, Or, And };
  enum class Wish : uint8_t { Less, Equal, Greater, NotLess, Bits };
  struct Awaited {
    Wish wish = Wish::Equal;
    bool clear = true;
    uint32_t value = 1;
  };

  Notify(NotifyId id, int device, NotifyUse use) : id_(id), device_(device), use_(use) {}
  // Of another process.
  Notify(NotifyId id, std::shared_ptr<HeldPlace> place);
  Notify(const Notify&) = delete;
  Notify& operator=(const Notify&) = delete;

  NotifyId id() const { return id_; }
  int device() const { return device_; }
  bool is_counting() const { return use_ == NotifyUse::Counting; }
  bool is_device_only() const { return use_ == NotifyUse::DeviceOnly; }
  bool is_imported() const { return imported_; }

  void change(Change change, uint32_t value);
  // Whether it is as wished now; if it is, and that is asked for, it is 0 afterwards.
  bool take(const Awaited& awaited);
  // Wakes the stream at the next change. False if somebody must look by himself.
  bool park(const std::shared_ptr<Stream>& stream);

  // Shows it on this process's own board, unless it stands there already.
  Result<std::shared_ptr<HeldPlace>> show(const std::shared_ptr<Board>& board);
  // Where others see it; nothing if they do not.
  std::shared_ptr<HeldPlace> place() const;

  // No change can come any more; who waits is woken and told.
  void end();
  bool has_ended() const { return ended_.load(); }

 private:
  void wake_waiters();

  const NotifyId id_;
  const int device_;
  const NotifyUse use_;
  const bool imported_ = false;
  std::atomic<bool> ended_{false};
  mutable std::mutex mutex_;  // guards the rest; a board's lock is taken under it
  std::atomic<uint32_t> own_value_{0};
  std::atomic<uint32_t>* value_ = &own_value_;
  std::shared_ptr<HeldPlace> place_;
  std::vector<std::shared_ptr<Stream>> waiters_;
};

}  // namespace plat::stream
