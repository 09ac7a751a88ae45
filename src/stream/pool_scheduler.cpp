// The default scheduler: a few threads, started when there is work, that run whichever streams are runnable.
//
// A stream costs no thread. Threads beyond the usual number exist only while client code blocks others, so
// that a thousand streams whose callbacks wait for each other still make progress.
#include <array>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "os/signal_chain.h"
#include "stream/queue.h"
#include "stream/scheduler.h"
#include "stream/timers.h"

namespace plat::stream {
namespace {

constexpr size_t kPriorities = 8;
// How much of one stream runs before another of its priority gets the thread.
constexpr size_t kItemsPerTurn = 64;
// About 5 microseconds.
constexpr int kLooksBeforeSleep = 100;

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

  bool wait(Gate& gate, const std::function<bool()>& condition, Deadline deadline) override {
    return gate.wait(condition, deadline, lingers_ ? kLooksBeforeSleep : 1);
  }

  void enter_host_code() override {
    std::lock_guard lock(mutex_);
    ++in_host_code_;
    if (ready_count_.load() > 0 && idle_ == 0) add_worker();
  }

  void leave_host_code() override {
    std::lock_guard lock(mutex_);
    --in_host_code_;
  }

  bool may_linger() const override { return lingers_ && ready_count_.load(std::memory_order_relaxed) == 0; }

 private:
  void push(std::shared_ptr<Stream> stream) {
    const size_t priority = std::min<size_t>(stream->traits().priority, kPriorities - 1);
    ready_[priority].push_back(std::move(stream));
    ready_count_.fetch_add(1);
  }

  std::shared_ptr<Stream> pop() {
    for (auto& queue : ready_) {
      if (queue.empty()) continue;
      auto stream = std::move(queue.front());
      queue.pop_front();
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
    } catch (const std::system_error&) {
      --workers_;  // The others carry on; with none at all, the next call tries again.
    }
  }

  void work() {
    os::unblock_faults();
    std::unique_lock lock(mutex_);
    while (!stopping_) {
      if (auto due = timers_.take(Clock::now()); !due.empty()) {
        lock.unlock();
        for (auto& stream : due) stream->wake();
        due.clear();
        lock.lock();
        continue;
      }
      if (auto stream = pop()) {
        lock.unlock();
        const Stream::Turn turn = stream->run(kItemsPerTurn);
        if (turn != Stream::Turn::More) stream.reset();
        lock.lock();
        if (stream) push(std::move(stream));
        continue;
      }
      if (workers_ - in_host_code_ > workers_wanted_) break;
      ++idle_;
      if (const Deadline next = timers_.next()) {
        work_.wait_until(lock, *next);
      } else {
        work_.wait(lock);
      }
      --idle_;
    }
    if (--workers_ == 0) stopped_.notify_all();
  }

  const unsigned workers_wanted_;
  const bool lingers_;
  std::mutex mutex_;  // guards everything below but the atomic
  std::condition_variable work_;
  std::condition_variable stopped_;
  std::array<std::deque<std::shared_ptr<Stream>>, kPriorities> ready_;
  std::atomic<size_t> ready_count_{0};
  Timers timers_;
  unsigned workers_ = 0;
  unsigned idle_ = 0;
  unsigned in_host_code_ = 0;
  bool stopping_ = false;
};

}  // namespace

std::unique_ptr<Scheduler> make_pool_scheduler(unsigned workers) {
  return std::make_unique<PoolScheduler>(workers);
}

}  // namespace plat::stream
