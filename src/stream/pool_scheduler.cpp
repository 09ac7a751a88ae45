// SPDX-License-Identifier: Apache-2.0
// The default scheduler: a few threads, started when there is work, that run whichever streams are runnable.
//
// A stream costs no thread. Threads beyond the usual number exist only while client code blocks others, so
// that a thousand streams whose callbacks wait for each other still make progress.
//
// Where the system gives no thread (RLIMIT_NPROC, pids.max), the threads that wait for streams or ask how far
// they are lend a hand: they run the work themselves, until a thread can be had again.
#include <algorithm>
#include <array>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "device/report.h"
#include "os/lookout.h"
#include "os/signal_chain.h"
#include "os/thread_sanitizer.h"
#include "stream/ready_list.h"
#include "stream/scheduler.h"
#include "stream/stream.h"
#include "stream/timers.h"

namespace plat::stream {
namespace {

constexpr size_t kPriorities = 8;
// How much of one stream runs before another of its priority gets the thread.
constexpr size_t kItemsPerTurn = 64;
// About 5 microseconds.
constexpr int kLooksBeforeSleep = 100;
// How long a thread that lends a hand sleeps when there is nothing to run at the moment.
constexpr auto kLendAgain = std::chrono::microseconds(200);

// Whether the calling thread is one of the pool's, and not lending a hand from inside code of the client's.
constinit thread_local bool t_is_worker = false;
// What a client waits for often takes as long each time.
constinit thread_local os::Lookout t_lookout;

class PoolScheduler final : public Scheduler {
 public:
  explicit PoolScheduler(unsigned workers)
      : workers_wanted_(std::max(workers, 1U)), lingers_(std::thread::hardware_concurrency() > 1) {}

  ~PoolScheduler() override {
    std::unique_lock lock(mutex_);
    stopping_ = true;
    work_.notify_all();
    stopped_.wait(lock, [this] { return workers_ == 0; });
  }

  void ready(std::shared_ptr<Stream> stream) override {
    std::unique_lock lock(mutex_);
    push(std::move(stream));
    // One that was woken and has not come yet still counts as idle.
    if (ready_count_.load() > idle_) add_worker();
    if (idle_ == 0) return;
    lock.unlock();
    work_.notify_one();
  }

  void wake_at(std::shared_ptr<Stream> stream, Clock::time_point time) override {
    std::lock_guard lock(mutex_);
    const Deadline before = timers_.next();
    timers_.add(std::move(stream), time);
    if (idle_ > 0 && (!before || time < *before)) work_.notify_one();
    if (idle_ == 0) add_worker();
  }

  void drive_for_query() override {
    if (short_.load()) lend_a_hand();
  }

  bool wait(WaitingRoom& room, const std::function<bool()>& condition, Deadline deadline) override {
    // Another process takes its time.
    const bool may_be_short = lingers_ && !room.awaits_bell();
    if (room.watch(condition, may_be_short ? kLooksBeforeSleep : 1)) return true;
    const auto sleep = [&] { return sleep_in(room, condition, deadline); };
    return may_be_short ? t_lookout.wait(condition, sleep) : sleep();
  }

  void enter_host_code() override {
    if (!t_is_worker) return;
    std::lock_guard lock(mutex_);
    ++in_host_code_;
    const bool has_work = ready_count_.load() > 0 || timers_.next().has_value();
    if (!has_work) return;
    if (idle_ == 0)
      add_worker();
    else
      work_.notify_one();  // it may have gone to sleep before there was anything to wake it at
  }

  void leave_host_code() override {
    if (!t_is_worker) return;
    std::lock_guard lock(mutex_);
    --in_host_code_;
    short_.store(false);
  }

  bool lets_others_run() const override { return true; }

  bool may_linger() const override { return lingers_ && ready_count_.load(std::memory_order_relaxed) == 0; }

 private:
  // A thread that may sleep in a waiting room, and is to be woken when its hand is needed. They are a list.
  struct Sleeper {
    Sleeper(PoolScheduler& owner, WaitingRoom& room) : scheduler(owner), at(room) {
      std::lock_guard lock(scheduler.mutex_);
      next = std::exchange(scheduler.sleepers_, this);
      if (next != nullptr) next->previous = this;
    }
    ~Sleeper() {
      std::lock_guard lock(scheduler.mutex_);
      (previous != nullptr ? previous->next : scheduler.sleepers_) = next;
      if (next != nullptr) next->previous = previous;
    }
    Sleeper(const Sleeper&) = delete;
    Sleeper& operator=(const Sleeper&) = delete;

    PoolScheduler& scheduler;
    WaitingRoom& at;
    Sleeper* next = nullptr;
    Sleeper* previous = nullptr;
  };

  bool sleep_in(WaitingRoom& room, const std::function<bool()>& condition, Deadline deadline) {
    const Sleeper sleeper(*this, room);
    while (!condition()) {
      if (!short_.load()) {
        if (!room.wait([&] { return condition() || short_.load(); }, deadline)) return false;
        continue;
      }
      const auto now = Clock::now();
      if (deadline && now >= *deadline) return false;
      if (lend_a_hand()) continue;
      Clock::time_point until = now + kLendAgain;
      if (deadline) until = std::min(until, *deadline);
      room.wait(condition, until);
    }
    return true;
  }

  void push(std::shared_ptr<Stream> stream) {
    const size_t priority = std::min<size_t>(stream->settings().priority(), kPriorities - 1);
    ready_[priority].push(std::move(stream));
    ready_count_.fetch_add(1);
  }

  std::shared_ptr<Stream> pop() {
    for (auto& queue : ready_) {
      if (queue.empty()) continue;
      auto stream = queue.pop();
      ready_count_.fetch_sub(1);
      return stream;
    }
    return nullptr;
  }

  bool enough_workers() const { return workers_ - in_host_code_ >= workers_wanted_; }

  // With the lock held. Threads are detached: the library may outlive every chance to join them.
  void add_worker() {
    if (stopping_ || enough_workers()) return;
    try {
      ++workers_;
      std::thread([this] { work(); }).detach();
      short_.store(false);
    } catch (const std::exception& problem) {
      --workers_;  // The others carry on, and the next call tries again.
      if (workers_ == in_host_code_) fall_short(problem.what());
    }
  }

  // With the lock held: no thread of the pool can run what is there.
  void fall_short(const char* why) {
    short_.store(true);
    for (const Sleeper* sleeper = sleepers_; sleeper != nullptr; sleeper = sleeper->next)
      sleeper->at.notify();
    if (std::exchange(said_short_, true)) return;
    report::notice(
        fmt::format("no thread can be made for streams ({}): their work runs in the threads that wait for "
                    "them. Raise ulimit -u or pids.max, or start fewer threads",
                    why));
  }

  bool lend_a_hand() {
    const struct Lent {
      ~Lent() { t_is_worker = was_worker; }
      bool was_worker;
    } lent{std::exchange(t_is_worker, false)};
    std::unique_lock lock(mutex_);
    return run_next(lock);
  }

  // Runs what is due or ready, if there is anything. The lock is held, but for the time that work runs.
  bool run_next(std::unique_lock<std::mutex>& lock) {
    if (auto due = timers_.take(Clock::now()); !due.empty()) {
      lock.unlock();
      for (auto& [time, stream] : due) stream->wake();
      due.clear();
      lock.lock();
      return true;
    }
    auto stream = pop();
    if (!stream) return false;
    lock.unlock();
    const Stream::Turn turn = stream->run(kItemsPerTurn);
    if (turn != Stream::Turn::More) stream.reset();
    lock.lock();
    if (stream) push(std::move(stream));
    return true;
  }

  void work() {
    os::unblock_faults();
    const os::tsan::Unwatched unwatched;
    t_is_worker = true;
    std::unique_lock lock(mutex_);
    const struct Leave {
      // Also when client code ends the thread. What it leaves behind needs another.
      ~Leave() {
        if (!lock.owns_lock()) lock.lock();
        --scheduler.workers_;
        if (scheduler.ready_count_.load() > scheduler.idle_) scheduler.add_worker();
        if (scheduler.workers_ == 0) scheduler.stopped_.notify_all();
      }
      PoolScheduler& scheduler;
      std::unique_lock<std::mutex>& lock;
    } leave{*this, lock};
    while (!stopping_) {
      if (run_next(lock)) continue;
      if (workers_ - in_host_code_ > workers_wanted_) break;
      ++idle_;
      if (const Deadline next = timers_.next()) {
        work_.wait_until(lock, *next);
      } else {
        work_.wait(lock);
      }
      --idle_;
    }
  }

  const unsigned workers_wanted_;
  const bool lingers_;
  std::mutex mutex_;  // guards everything below but the atomics
  std::condition_variable work_;
  std::condition_variable stopped_;
  std::array<ReadyList, kPriorities> ready_;
  std::atomic<size_t> ready_count_{0};
  Timers timers_;
  unsigned workers_ = 0;
  unsigned idle_ = 0;
  unsigned in_host_code_ = 0;       // of the workers
  Sleeper* sleepers_ = nullptr;     // threads of the client's that wait
  std::atomic<bool> short_{false};  // there may be work, and no worker that could run it
  bool said_short_ = false;
  bool stopping_ = false;
};

}  // namespace

std::unique_ptr<Scheduler> make_pool_scheduler(unsigned workers) {
  return std::make_unique<PoolScheduler>(workers);
}

}  // namespace plat::stream
