// SPDX-License-Identifier: Apache-2.0
// The schedulers that make runs repeatable: work runs in the client's own threads, inside the calls it makes.
//
// Eager runs all that can run, at once, in the order it was queued. Seeded runs one thing at a time, a few
// with each call and the rest while somebody waits, and asks a generator which stream is next. A program with
// one thread thus does the same in every run with the same seed. One that only looks at memory and calls
// nothing would wait for ever; after a quiet moment a thread of the scheduler's takes the turn.
#include <atomic>
#include <exception>
#include <mutex>
#include <random>
#include <thread>
#include <utility>

#include "os/signal_chain.h"
#include "os/thread_sanitizer.h"
#include "stream/ready_list.h"
#include "stream/scheduler.h"
#include "stream/stream.h"
#include "stream/timers.h"

namespace plat::stream {
namespace {

constexpr auto kQuiet = std::chrono::milliseconds(20);
// How long a waiting thread sleeps when another one runs what it waits for.
constexpr auto kHostedLookAgain = std::chrono::microseconds(200);

class HostedScheduler : public Scheduler {
 public:
  void ready(std::shared_ptr<Stream> stream) override {
    std::lock_guard lock(mutex_);
    ready_.push(std::move(stream));
    ++ready_count_;
    work_.notify_one();
  }

  void wake_at(std::shared_ptr<Stream> stream, Clock::time_point time) override {
    std::lock_guard lock(mutex_);
    timers_.add(std::move(stream), time);
    work_.notify_one();
  }

  bool wait(WaitingRoom& room, const std::function<bool()>& condition, Deadline deadline) override {
    while (!condition()) {
      const auto now = Clock::now();
      if (deadline && now >= *deadline) return false;
      if (step()) continue;
      Clock::time_point until = now + kHostedLookAgain;
      if (deadline) until = std::min(until, *deadline);
      room.wait(condition, until);
    }
    return true;
  }

 protected:
  // Which of `count` runnable streams is next, and how much of it.
  virtual size_t choose(size_t count) = 0;
  virtual size_t items_per_turn() const = 0;

  // Runs something, if there is anything; with the lock not held.
  virtual bool step() {
    std::shared_ptr<Stream> stream = next();
    if (!stream) return false;
    if (stream->run(items_per_turn()) == Stream::Turn::More) ready(std::move(stream));
    return true;
  }

  std::shared_ptr<Stream> next() {
    std::unique_lock lock(mutex_);
    if (auto due = timers_.take(Clock::now()); !due.empty()) {
      lock.unlock();
      for (auto& [time, stream] : due) stream->wake();
      lock.lock();
    }
    if (ready_.empty()) return nullptr;
    return ready_.take(choose(ready_count_--));
  }

  std::mutex mutex_;  // guards the rest, and what choose() draws from
  std::condition_variable work_;
  ReadyList ready_;
  size_t ready_count_ = 0;
  Timers timers_;
};

class EagerScheduler final : public HostedScheduler {
 public:
  void drive() override {
    while (step()) {
    }
  }

 protected:
  size_t choose(size_t) override { return 0; }
  size_t items_per_turn() const override { return SIZE_MAX; }
};

class SeededScheduler final : public HostedScheduler {
 public:
  explicit SeededScheduler(uint64_t seed) : random_(seed) {}

  ~SeededScheduler() override {
    std::unique_lock lock(mutex_);
    stopping_ = true;
    work_.notify_all();
    stopped_.wait(lock, [this] { return !watching_; });
  }

  void ready(std::shared_ptr<Stream> stream) override {
    {
      std::lock_guard lock(mutex_);
      if (!watching_) start_watching();
    }
    HostedScheduler::ready(std::move(stream));
  }

  void drive() override {
    size_t steps = 0;
    {
      std::lock_guard lock(mutex_);
      steps = draw(3);
    }
    while (steps-- > 0 && step()) {
    }
  }

 protected:
  size_t choose(size_t count) override { return draw(count); }
  size_t items_per_turn() const override { return 1; }

  // One thing at a time, whichever thread is at it; client code in a stream may itself wait, in the same
  // thread.
  bool step() override {
    ++activity_;
    const std::thread::id self = std::this_thread::get_id();
    std::thread::id nobody;
    const bool nested = turn_.load() == self;
    if (!nested && !turn_.compare_exchange_strong(nobody, self)) return false;
    const struct EndOfTurn {  // also when client code ends the thread
      ~EndOfTurn() {
        if (!nested) turn.store(std::thread::id());
      }
      std::atomic<std::thread::id>& turn;
      bool nested;
    } end{turn_, nested};
    return HostedScheduler::step();
  }

 private:
  // Not a distribution: those differ between libraries, and a seed should mean the same everywhere.
  size_t draw(size_t count) { return random_() % count; }

  // With the lock held. Without a thread the client's own calls run the work, and the next one tries again.
  void start_watching() {
    try {
      std::thread([this] { watch(); }).detach();
      watching_ = true;
    } catch (const std::exception&) {
    }
  }

  void watch() {
    os::unblock_faults();
    const os::tsan::Unwatched unwatched;
    std::unique_lock lock(mutex_);
    const struct Leave {  // also when client code ends the thread; the next work starts another
      ~Leave() {
        if (!lock.owns_lock()) lock.lock();
        scheduler.watching_ = false;
        if (!scheduler.stopping_ && !scheduler.ready_.empty()) scheduler.start_watching();
        scheduler.stopped_.notify_all();
      }
      SeededScheduler& scheduler;
      std::unique_lock<std::mutex>& lock;
    } leave{*this, lock};
    while (!stopping_) {
      if (ready_.empty() && !timers_.next()) {
        work_.wait(lock);
        continue;
      }
      const uint64_t before = activity_.load();
      work_.wait_for(lock, kQuiet, [this] { return stopping_; });
      while (!stopping_ && activity_.load() == before + quiet_steps_) {
        lock.unlock();
        const bool ran = step();
        lock.lock();
        ++quiet_steps_;
        if (!ran) break;
      }
      quiet_steps_ = 0;
    }
  }

  std::mt19937_64 random_;
  std::atomic<std::thread::id> turn_{};
  std::atomic<uint64_t> activity_{0};
  std::condition_variable stopped_;
  bool stopping_ = false;
  bool watching_ = false;
  uint64_t quiet_steps_ = 0;  // of the watching thread, since it last saw activity of others
};

}  // namespace

std::unique_ptr<Scheduler> make_eager_scheduler() { return std::make_unique<EagerScheduler>(); }

std::unique_ptr<Scheduler> make_seeded_scheduler(uint64_t seed) {
  return std::make_unique<SeededScheduler>(seed);
}

}  // namespace plat::stream
