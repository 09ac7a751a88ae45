// SPDX-License-Identifier: Apache-2.0
// Goal: a process that dies at any instruction gives back all it held, and nothing else is disturbed.
// Method: four workers use one device without end. Half of them die at a random place inside the library
// (SIGKILL to themselves in the middle of a change), half are killed from outside, at a random moment or a
// random number of instructions after they took a lock. After
// each death the others stop between two calls and report what they hold; the ledger must agree with itself,
// with each of them, and hold nothing of the dead. Contents are tagged: nobody's may change, and new memory
// must be zero. KILLS=n sets how many deaths (2000; 300 where a sanitizer slows each down), SEED=n the seed.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <random>
#include <string>

#include "device/bank.h"
#include "device/node.h"
#include "process/kill_board.h"
#include "process/kill_steps.h"

namespace plat::kill_test {
namespace {

uint64_t number_from(const char* name, uint64_t otherwise) {
  const char* text = getenv(name);
  return text ? strtoull(text, nullptr, 10) : otherwise;
}

class Supervisor {
 public:
  Supervisor() : seed_(number_from("SEED", 1)), random_(seed_), node_name_(new_name()) {
    printf("seed %llu\n", static_cast<unsigned long long>(seed_));
    board_path_ = "/dev/shm/" + node_name_ + ".board";
    const int fd = open(board_path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    EXPECT_EQ(ftruncate(fd, sizeof(Board)), 0);
    board_ = static_cast<Board*>(mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
    close(fd);
    device::Config config = device::read_config([&](const std::string& name) -> std::optional<std::string> {
      if (name == "PLAT_NODE") return node_name_;
      if (name == "PLAT_CAPACITY") return "128MiB";
      if (name == "PLAT_QUIET") return "1";
      return std::nullopt;
    });
    node_ = std::make_unique<device::Node>(config);
  }

  ~Supervisor() {
    unlink(board_path_.c_str());
    unlink(node_->control_path(device::BankId(0)).c_str());
    unlink(node_->control_path(device::kHostBank).c_str());
  }

  // In namespaces of their own many processes have the same pid.
  static std::string new_name() {
    const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
    return "kill-" + std::to_string(getpid()) + "-" + std::to_string(now % 1'000'000'000);
  }

  device::Ledger& ledger(device::BankId number = device::BankId(0)) {
    const auto bank = node_->bank(number);
    EXPECT_TRUE(bank) << bank.error().detail;
    return (*bank)->ledger();
  }

  void start(unsigned number) {
    Board::Worker& worker = board_->workers[number];
    worker.paused_at = 0;
    worker.pid = 0;
    crashes_itself_[number] = random_() % 2 == 0;
    const std::string crash = crashes_itself_[number] ? "any:" + std::to_string(1 + random_() % 400) : "";
    const char* const host_access = random_() % 2 == 0 ? "allow" : "deny";
    const std::string seed = std::to_string(random_());
    const std::string index = std::to_string(number);
    pids_[number] = fork();
    ASSERT_GE(pids_[number], 0);
    if (pids_[number] != 0) return;
    setenv("PLAT_NODE", node_name_.c_str(), 1);
    setenv("PLAT_CAPACITY", "128MiB", 1);
    setenv("PLAT_DEVICES", "1", 1);
    setenv("PLAT_HOST_ACCESS", host_access, 1);
    setenv("PLAT_LOG", "off", 1);
    setenv("PLAT_CRASH", crash.c_str(), 1);
    execl(KILL_WORKER, "kill_worker", board_path_.c_str(), index.c_str(), seed.c_str(), nullptr);
    _exit(2);
  }

  // Waits until one worker is dead, by itself or by us. Its number.
  unsigned kill_one() {
    const auto victim = static_cast<unsigned>(random_() % kWorkers);
    if (crashes_itself_[victim]) {
      int status = 0;
      const pid_t pid = waitpid(-1, &status, 0);
      for (unsigned number = 0; number < kWorkers; ++number)
        if (pids_[number] == pid) return died(number, status);
      ADD_FAILURE() << "unknown child " << pid;
      return 0;
    }
    if (random_() % 6 == 0)
      if (const auto status = kill_inside_lock(pids_[victim], random_() % 3000)) {
        ++killed_in_lock_;
        return died(victim, *status);
      }
    usleep(static_cast<unsigned>(random_() % 8000));
    kill(pids_[victim], SIGKILL);
    int status = 0;
    waitpid(pids_[victim], &status, 0);
    return died(victim, status);
  }

  // The living stop between two calls; then everything must add up.
  void verify() {
    const uint32_t pause = board_->pause.fetch_add(1) + 1;
    // A worker stops, or dies on the way there: no one event is both, so we look again and again.
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(5);
    for (unsigned number = 0; number < kWorkers; ++number) {
      while (pids_[number] > 0 && board_->workers[number].paused_at != pause) {
        int status = 0;
        if (waitpid(pids_[number], &status, WNOHANG) == pids_[number]) died(number, status);
        if (std::chrono::steady_clock::now() > deadline) {
          ADD_FAILURE() << "worker " << number << " does not stop";
          break;
        }
        usleep(100);
      }
    }
    const device::Usage usage = ledger().usage();  // reaps the dead
    EXPECT_EQ(ledger().verify(), "");
    uint64_t held = 0;
    for (const device::Holder& holder : ledger().holders()) {
      bool known = holder.pid == getpid() && holder.bytes == 0;
      for (unsigned number = 0; number < kWorkers; ++number) {
        if (pids_[number] <= 0 || holder.pid != pids_[number]) continue;
        known = true;
        EXPECT_EQ(holder.bytes, board_->workers[number].held_bytes.load()) << "worker " << number;
        held += holder.bytes;
      }
      EXPECT_TRUE(known) << "pid " << holder.pid << " holds " << holder.bytes << " and is dead";
    }
    EXPECT_EQ(usage.free_bytes + held, usage.total_bytes);
    board_->pause.fetch_add(1);
  }

  void finish() {
    for (unsigned number = 0; number < kWorkers; ++number) {
      if (pids_[number] <= 0) continue;
      kill(pids_[number], SIGKILL);
      waitpid(pids_[number], nullptr, 0);
      pids_[number] = 0;
    }
    EXPECT_EQ(ledger().usage().free_bytes, 128u << 20);
    EXPECT_EQ(ledger().verify(), "");
    const device::Usage host = ledger(device::kHostBank).usage();
    EXPECT_EQ(host.free_bytes, host.total_bytes);
    EXPECT_EQ(ledger(device::kHostBank).verify(), "");
    struct stat info {};
    EXPECT_EQ(fstat(ledger().data_fd(), &info), 0);
    EXPECT_EQ(info.st_blocks, 0) << "memory of the dead was not given back to the system";
    uint64_t operations = 0;
    for (const Board::Worker& worker : board_->workers) {
      operations += worker.operations;
      EXPECT_EQ(worker.corruptions, 0u);
      EXPECT_EQ(worker.surprises, 0u) << worker.first_surprise;
    }
    printf("%llu calls, %u died inside the library, %u at some step inside a lock\n",
           static_cast<unsigned long long>(operations), died_inside_, killed_in_lock_);
    EXPECT_GT(operations, 0u);
    EXPECT_GT(died_inside_, 0u) << "no crash point was reached: the test proves nothing";
  }

  void restart_missing() {
    for (unsigned number = 0; number < kWorkers; ++number)
      if (pids_[number] <= 0) start(number);
  }

 private:
  unsigned died(unsigned number, int status) {
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
        << "worker " << number << " ended with status " << status;
    if (crashes_itself_[number]) ++died_inside_;
    pids_[number] = 0;
    return number;
  }

  const uint64_t seed_;
  std::mt19937_64 random_;
  std::string node_name_;
  std::string board_path_;
  Board* board_ = nullptr;
  std::unique_ptr<device::Node> node_;
  pid_t pids_[kWorkers] = {};
  bool crashes_itself_[kWorkers] = {};
  unsigned died_inside_ = 0;
  unsigned killed_in_lock_ = 0;
};

TEST(Kill, NothingIsLostWhereverAProcessDies) {
  Supervisor supervisor;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  const uint64_t kills = number_from("KILLS", 300);
#else
  const uint64_t kills = number_from("KILLS", 2000);
#endif
  for (uint64_t done = 0; done < kills && !::testing::Test::HasFailure(); ++done) {
    supervisor.restart_missing();
    supervisor.kill_one();
    supervisor.verify();
  }
  supervisor.finish();
}

}  // namespace
}  // namespace plat::kill_test
