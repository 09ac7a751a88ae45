// SPDX-License-Identifier: Apache-2.0
// WaitingRoom: where host threads wait for a stream. Calling there costs the stream one load while nobody
// waits.
//
// While the stream waits for another process, one of the threads that wait for the stream listens to the bell
// which that process will ring, instead of sleeping here.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "base/relax.h"
#include "stream/bell.h"
#include "stream/ids.h"

namespace plat::stream {

class WaitingRoom {
 public:
  // After the change that a waiter's condition reads, with sequentially consistent accesses on both sides.
  void notify() {
    if (waiters_.load() == 0) return;
    std::lock_guard lock(mutex_);
    changed_.notify_all();
    if (attended_ != nullptr && attendant_ != std::this_thread::get_id()) attended_->rouse();
  }

  // The stream waits for whoever rings the bell; and it no longer does.
  void await(std::weak_ptr<Bell> bell) {
    std::lock_guard lock(mutex_);
    bell_ = std::move(bell);
    awaits_.store(true);
  }
  void await_no_more() {
    if (awaits_.load(std::memory_order_relaxed)) awaits_.store(false);
  }
  bool awaits_bell() const { return awaits_.load(); }

  // Looks so often without sleeping; work is often shorter than a sleep.
  template <class Condition>
  bool watch(const Condition& condition, int looks) {
    if (condition()) return true;
    const Counted watcher(watchers_);
    for (; looks > 1; --looks) {
      relax();
      if (condition()) return true;
    }
    return false;
  }

  // False when the deadline passed first.
  template <class Condition>
  bool wait(const Condition& condition, Deadline deadline) {
    if (condition()) return true;
    const Counted watcher(watchers_);
    const Counted waiter(waiters_);
    std::unique_lock lock(mutex_);
    if (const auto bell = awaits_.load() ? bell_.lock() : nullptr; bell && !attended_ && bell->attend()) {
      const Attendance attendance(*this, lock, *bell);
      return listen(*bell, condition, deadline);
    }
    if (deadline) return changed_.wait_until(lock, *deadline, condition);
    changed_.wait(lock, condition);
    return true;
  }

  // Whether anybody waits, asleep or not.
  bool is_watched() const { return watchers_.load(std::memory_order_relaxed) > 0; }

 private:
  struct Counted {
    explicit Counted(std::atomic<int>& counter) : count(counter) { ++count; }
    ~Counted() { --count; }
    Counted(const Counted&) = delete;
    Counted& operator=(const Counted&) = delete;
    std::atomic<int>& count;
  };

  // Of the calling thread, with the lock let go meanwhile.
  class Attendance {
   public:
    Attendance(WaitingRoom& room, std::unique_lock<std::mutex>& lock, Bell& bell)
        : waiting_room_(room), bell_(bell) {
      waiting_room_.attended_ = &bell;
      waiting_room_.attendant_ = std::this_thread::get_id();
      lock.unlock();
    }
    ~Attendance() {
      {
        std::lock_guard lock(waiting_room_.mutex_);
        waiting_room_.attended_ = nullptr;
      }
      bell_.leave();
    }
    Attendance(const Attendance&) = delete;
    Attendance& operator=(const Attendance&) = delete;

   private:
    WaitingRoom& waiting_room_;
    Bell& bell_;
  };

  template <class Condition>
  static bool listen(Bell& bell, const Condition& condition, Deadline deadline) {
    for (;;) {
      const uint32_t heard = bell.heard();
      bell.pass_on();
      if (condition()) return true;
      if (deadline && Clock::now() >= *deadline) return false;
      bell.sleep(heard, deadline);
    }
  }

  std::atomic<int> watchers_{0};
  std::atomic<int> waiters_{0};  // those of them that sleep, or are about to
  std::atomic<bool> awaits_{false};
  std::mutex mutex_;  // guards the sleep itself, and what follows
  std::condition_variable changed_;
  std::weak_ptr<Bell> bell_;
  Bell* attended_ = nullptr;  // by a thread that waits here
  std::thread::id attendant_;
};

}  // namespace plat::stream
