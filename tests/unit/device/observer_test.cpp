// SPDX-License-Identifier: Apache-2.0
// Looking at a device from outside, and removing what nobody uses. Here the process looks at itself; the
// tests of the plat command do it with other processes.
#include "device/observer.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <functional>
#include <optional>
#include <thread>

#include "base/units.h"
#include "device/machines.h"
#include "device/node.h"

namespace {

// What happens before the n-th read of a file by its place.
struct BeforeRead {
  uint64_t reads_left = 0;
  std::function<void()> happens;
};
BeforeRead before_read;

}  // namespace

// NOLINTBEGIN: the C library's
extern "C" ssize_t pread(int fd, void* to, size_t size, off_t at) {
  if (before_read.reads_left > 0 && --before_read.reads_left == 0) std::function(before_read.happens)();
  static const auto real =
      reinterpret_cast<ssize_t (*)(int, void*, size_t, off_t)>(dlsym(RTLD_NEXT, "pread"));
  return real(fd, to, size, at);
}
// NOLINTEND

namespace plat::device {
namespace {

class Observing : public ::testing::Test {
 protected:
  Observing() {
    std::string pattern = ::testing::TempDir() + "observer-XXXXXX";
    directory_ = mkdtemp(pattern.data());
    path_ = Node::control_path(directory_, "m", BankId(0));
  }
  ~Observing() override { std::filesystem::remove_all(directory_); }

  std::unique_ptr<Ledger> join() {
    LedgerOptions options;
    options.control_path = path_;
    options.capacity_bytes = 64_MiB;
    options.product = "a2";
    auto ledger = Ledger::attach(options);
    EXPECT_TRUE(ledger) << ledger.error().detail;
    return ledger ? std::move(*ledger) : nullptr;
  }

  std::string directory_;
  std::string path_;
};

TEST_F(Observing, ADeviceThatNobodyUsesIsIdleAndStaysUntouched) {
  EXPECT_EQ(observe(path_).state, ObserveState::Idle);
  EXPECT_FALSE(std::filesystem::exists(path_));
}

// What a header says is not believed: tables of that length would be more than there is memory.
TEST_F(Observing, ADamagedControlFileIsToldAndTakesNoMemory) {
  const auto ledger = join();
  const int fd = open(path_.c_str(), O_RDWR | O_CLOEXEC);
  LedgerHeader whole{};
  ASSERT_EQ(pread(fd, &whole, sizeof whole, 0), ssize_t{sizeof whole});
  const auto damage = [&](auto LedgerHeader::*field, auto value) {
    char bytes[sizeof whole];
    std::memcpy(bytes, &whole, sizeof whole);
    std::memcpy(
        bytes + (reinterpret_cast<const char*>(&(whole.*field)) - reinterpret_cast<const char*>(&whole)),
        &value, sizeof value);
    EXPECT_EQ(pwrite(fd, bytes, sizeof bytes, 0), ssize_t{sizeof bytes});
    const Observation seen = observe(path_);
    EXPECT_EQ(seen.state, ObserveState::Unknown);
    EXPECT_EQ(seen.problem, "its control file is damaged");
    EXPECT_FALSE(find_running(path_));
  };
  damage(&LedgerHeader::capacity_bytes, UINT64_MAX);
  damage(&LedgerHeader::page_count, UINT32_MAX);
  damage(&LedgerHeader::handle_count, UINT32_MAX);
  damage(&LedgerHeader::whitelist_count, UINT32_MAX);
  damage(&LedgerHeader::total_bytes, uint64_t{0});
  std::array<char, sizeof whole.product> endless;
  endless.fill('x');
  damage(&LedgerHeader::product, endless);
  EXPECT_EQ(pwrite(fd, &whole, sizeof whole, 0), ssize_t{sizeof whole});
  close(fd);
  EXPECT_EQ(observe(path_).state, ObserveState::Live);
}

TEST_F(Observing, AControlFileThatWasCutIsDamagedAndOfNoOtherVersion) {
  for (const off_t size : {4096, 100, 0}) {
    const auto ledger = join();
    ASSERT_EQ(truncate(path_.c_str(), size), 0);
    EXPECT_EQ(observe(path_).problem, "its control file is damaged") << size;
  }
}

TEST_F(Observing, SaysTheSameAsTheLedger) {
  auto ledger = join();
  const BlockId block = *ledger->allocate(3, {});
  Observation seen = observe(path_);
  ASSERT_EQ(seen.state, ObserveState::Live);
  EXPECT_EQ(seen.view.product, "a2");
  EXPECT_EQ(seen.view.capacity_bytes, 64_MiB);
  EXPECT_EQ(seen.view.free_bytes, ledger->usage().free_bytes);
  ASSERT_EQ(seen.view.holders.size(), 1u);
  EXPECT_EQ(seen.view.holders[0].pid, getpid());
  EXPECT_EQ(seen.view.holders[0].bytes, 6_MiB);
  EXPECT_EQ(seen.view.holders[0].blocks, 1u);
  EXPECT_TRUE(seen.view.is_of_one_moment);
  EXPECT_EQ(seen.view.difference, "");
  ledger->release(block);
  EXPECT_EQ(observe(path_).view.free_bytes, 64_MiB);
  ledger.reset();
  EXPECT_EQ(observe(path_).state, ObserveState::Idle);
}

TEST_F(Observing, DoesNotWaitForAHolderOfTheLock) {
  auto ledger = join();
  const Ledger::Lock lock(*ledger);
  const Observation seen = observe(path_);
  EXPECT_EQ(seen.state, ObserveState::Live);
  EXPECT_FALSE(seen.view.is_of_one_moment);
  EXPECT_EQ(seen.view.changing_pid, getpid());
}

// From here on a byte lock of a file ends the process.
void forbid_locks() {
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fcntl, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[1])),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, F_OFD_SETLK, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog filter{std::size(program), program};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
    _exit(9);
}

// Who holds no lock can be stopped at any moment without stopping others.
TEST_F(Observing, TakesNoLock) {
  auto ledger = join();
  EXPECT_TRUE(ledger->allocate(3, {}));
  const pid_t child = fork();
  if (child == 0) {
    forbid_locks();
    const Observation seen = observe(path_);
    _exit(seen.state == ObserveState::Live && seen.view.is_of_one_moment && seen.view.free_bytes == 58_MiB
              ? 0
              : 1);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

// A change at each moment of a look, one after the other: what is seen is what was there before it or after,
// never some of both.
TEST_F(Observing, AChangeBetweenAnyTwoReadsIsNoticed) {
  auto ledger = join();
  ledger->begin([](PageId, uint32_t) {});
  const auto look = [&](uint64_t nth, const std::function<void()>& change) {
    before_read = {nth, change};
    Observation seen = observe(path_);
    const bool happened = before_read.reads_left == 0;
    before_read = {};
    EXPECT_EQ(seen.state, ObserveState::Live);
    EXPECT_TRUE(seen.view.is_of_one_moment) << nth;
    EXPECT_EQ(seen.view.difference, "") << nth;
    EXPECT_FALSE(seen.view.died_inside_change) << nth;
    EXPECT_TRUE(seen.view.free_bytes == 58_MiB || seen.view.free_bytes == 64_MiB) << seen.view.free_bytes;
    return happened;
  };
  uint64_t reads = 1;
  std::optional<BlockId> block;
  const auto allocate = [&] { block = *ledger->allocate(3, {}); };
  const auto release = [&] { ledger->release(*block); };
  while (look(reads, allocate) && look(reads, release)) ++reads;
  EXPECT_GT(reads, 7u) << "a look reads the file in fewer pieces than it has";
  // One that is under way for as long as some reads take.
  for (uint64_t nth = 1; nth < reads; ++nth) {
    std::optional<Ledger::Lock> changing;
    look(nth, [&] {
      changing.emplace(*ledger);
      before_read = {2, [&] { changing.reset(); }};
    });
  }
}

// Changes go on all the time: what is said to be of one moment adds up.
TEST_F(Observing, ACopyOfOneMomentAddsUpWhileOthersAllocate) {
  auto ledger = join();
  ledger->begin([](PageId, uint32_t) {});
  std::atomic<bool> done{false};
  std::thread worker([&] {
    while (!done) {
      const auto block = ledger->allocate(3, {});
      if (block) ledger->release(*block);
    }
  });
  for (int i = 0; i < 20; ++i) {
    const Observation seen = observe(path_);
    EXPECT_EQ(seen.state, ObserveState::Live);
    EXPECT_EQ(seen.view.difference, "");
    EXPECT_FALSE(seen.view.died_inside_change);
    if (seen.view.is_of_one_moment) {
      EXPECT_TRUE(seen.view.free_bytes == 58_MiB || seen.view.free_bytes == 64_MiB);
    }
  }
  done = true;
  worker.join();
}

// As if another thread had forked while this one opens a device, which the machine does not know yet.
TEST_F(Observing, AChildForkedWhileADeviceOpensKeepsNoneOfItsFiles) {
  auto ledger = join();
  const auto open_here = [&] {
    size_t count = 0;
    for (const auto& file : std::filesystem::directory_iterator("/proc/self/fd")) {
      std::error_code ignored;
      const std::string target = std::filesystem::read_symlink(file.path(), ignored);
      count += target == path_ || target.find("plat-memory") != std::string::npos ? 1 : 0;
    }
    return count;
  };
  EXPECT_EQ(open_here(), 2u);
  const pid_t child = fork();
  if (child == 0) {
    Ledger::abandon_newest_in_child();
    _exit(static_cast<int>(open_here()));
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(Observing, FindsMachinesByTheirFiles) {
  for (const char* name : {"m-dev0", "m-dev1", "m-host", "a-b-dev7", "a-b-dev7.data", "notes", "x-dev99"})
    close(os::open_private_file(directory_ + "/" + name, true).release());
  const auto machines = find_machines(directory_);
  ASSERT_EQ(machines.size(), 2u);
  EXPECT_EQ(machines[0].node, "a-b");
  EXPECT_EQ(machines[0].banks, std::vector{BankId(7)});
  EXPECT_EQ(machines[1].banks, (std::vector{BankId(0), BankId(1), kHostBank}));
  remove_machine(directory_, machines[0], false);
  EXPECT_FALSE(std::filesystem::exists(directory_ + "/a-b-dev7.data"));
}

TEST_F(Observing, AMachineInUseIsNotRemoved) {
  auto ledger = join();
  const auto removals = remove_machine(directory_, {"m", {BankId(0)}}, false);
  ASSERT_EQ(removals.size(), 1u);
  EXPECT_TRUE(removals[0].in_use);
  EXPECT_TRUE(std::filesystem::exists(path_));
}

// A process that opens the file just before it is removed must not end up alone on a file that has no name.
TEST_F(Observing, WhoJoinsDuringARemovalIsFoundByOthers) {
  std::atomic<bool> done{false};
  std::thread remover([&] {
    while (!done) remove_machine(directory_, {"m", {BankId(0)}}, false);
  });
  for (int i = 0; i < 100; ++i) {
    auto ledger = join();
    EXPECT_EQ(observe(path_).state, ObserveState::Live);
  }
  done = true;
  remover.join();
}

}  // namespace
}  // namespace plat::device
