// SPDX-License-Identifier: Apache-2.0
// Programs that treat the machine's files badly, and places that are bad for them.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "base/units.h"
#include "device/ledger_layout.h"
#include "device/machines.h"
#include "os/file.h"
#include "support/directory.h"
#include "support/machine.h"
#include "support/peer.h"
#include "support/thread_state.h"

namespace plat::test {
namespace {

TEST(Files, ClosingAllFilesDoesNotCostTheMemory) {
  in_child([] {
    const Machine machine;
    Peer peer([](Channel& channel) {
      EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
      EXPECT_NE(allocate(4_MiB), nullptr);
      channel.send(0);
      channel.receive();
      // All but the channel, which was opened first and has low numbers.
      EXPECT_EQ(syscall(SYS_close_range, 32, ~0U, 0), 0);
      channel.send(0);
      channel.receive();
      EXPECT_NE(allocate(2_MiB), nullptr);  // and it can go on
      EXPECT_EQ(used_bytes(), 6_MiB);
      channel.send(0);
      channel.receive();
    });
    peer.channel().receive();
    EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    peer.channel().send(0);
    peer.channel().receive();
    EXPECT_EQ(used_bytes(), 4_MiB);
    peer.channel().send(0);
    peer.channel().receive();
    EXPECT_EQ(used_bytes(), 6_MiB);
    peer.kill_now();
    EXPECT_EQ(used_bytes(), 0u);
  });
}

// At any moment, so also inside a change: the lock must not stay with a file that nobody can name any more.
TEST(Files, ClosingAllFilesWhileOthersAllocateLeavesNoLock) {
  in_child([] {
    const Machine machine;
    Peer peer([](Channel& channel) {
      EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
      std::atomic<bool> done{false};
      std::thread worker([&] {
        EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
        while (!done) {
          aclrtDrvMemHandle handle = allocate(2_MiB);
          EXPECT_NE(handle, nullptr);
          EXPECT_EQ(aclrtFreePhysical(handle), ACL_SUCCESS);
        }
      });
      for (int i = 0; i < 300; ++i) {
        syscall(SYS_close_range, 32, ~0U, 0);
        sched_yield();
      }
      done = true;
      worker.join();
      EXPECT_NE(allocate(4_MiB), nullptr);
      channel.send(0);
      channel.receive();
    });
    EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);  // made by one of the two, joined by the other
    peer.channel().receive();
    EXPECT_EQ(used_bytes(), 4_MiB);
    EXPECT_NE(allocate(8_MiB), nullptr);
    peer.kill_now();
    EXPECT_EQ(used_bytes(), 8_MiB);
  });
}

TEST(Files, AControlFileThatWasCutShortIsAnErrorForNewcomers) {
  for (const off_t size : {0, 4096}) {
    in_child([&] {
      const Machine machine;
      Peer peer([](Channel& channel) {
        EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
        channel.send(0);
        for (;;) pause();
      });
      peer.channel().receive();
      EXPECT_EQ(truncate(machine.control_file().c_str(), size), 0);
      EXPECT_EQ(aclrtSetDevice(0), ACL_ERROR_RT_DEV_SETUP_ERROR);
      EXPECT_NE(std::string(aclGetRecentErrMsg()).find("cut to"), std::string::npos) << aclGetRecentErrMsg();
      peer.kill_now();
      EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS) << aclGetRecentErrMsg();
    });
  }
}

TEST(Files, RemovingTheControlFileOfALivingMachineIsTold) {
  in_child([] {
    const Machine machine;
    const Directory directory;
    const std::string log = std::string(directory.path()) + "/log";
    unsetenv("PLAT_DIR");
    setenv("PLAT_LOG", "warning", 1);
    setenv("PLAT_LOG_FILE", log.c_str(), 1);
    EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    EXPECT_EQ(used_bytes(), 0u);
    EXPECT_FALSE(std::filesystem::exists(log));
    EXPECT_EQ(unlink(machine.control_file().c_str()), 0);
    for (int i = 0; i < 3; ++i) EXPECT_EQ(used_bytes(), 0u);
    std::ifstream lines(log);
    std::string line;
    EXPECT_TRUE(std::getline(lines, line));
    EXPECT_NE(line.find("was removed while this process uses it"), std::string::npos) << line;
    EXPECT_FALSE(std::getline(lines, line)) << line;
  });
}

TEST(Files, ADataFileThatWasReplacedIsNotJoined) {
  in_child([] {
    const Machine machine;
    const Directory directory;
    Peer peer([](Channel& channel) {
      EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
      channel.send(0);
      for (;;) pause();
    });
    peer.channel().receive();
    const std::string data = std::string(directory.path()) + "/" + getenv("PLAT_NODE") + "-dev0.data";
    EXPECT_EQ(rename(data.c_str(), (data + ".old").c_str()), 0);
    EXPECT_EQ(aclrtSetDevice(0), ACL_ERROR_RT_DEV_SETUP_ERROR);
    EXPECT_NE(std::string(aclGetRecentErrMsg()).find("removed or replaced"), std::string::npos)
        << aclGetRecentErrMsg();
    EXPECT_FALSE(std::filesystem::exists(data));
  });
}

TEST(Files, DirectoryThatOthersCanWriteToIsRefused) {
  in_child([] {
    const Machine machine;
    char directory[] = "/tmp/plat-test-XXXXXX";
    ASSERT_NE(mkdtemp(directory), nullptr);
    chmod(directory, 0777);
    setenv("PLAT_DIR", directory, 1);
    EXPECT_EQ(aclrtSetDevice(0), ACL_ERROR_RT_DEV_SETUP_ERROR);
    EXPECT_NE(std::string(aclGetRecentErrMsg()).find("DEV-Open"), std::string::npos);
    rmdir(directory);
  });
}

// The number of the memory file now belongs to a file of the program's, which must not be written to.
TEST(Files, NumberOfTheMemoryFileMayBeReused) {
  in_child([] {
    const Machine machine;
    EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    void* before = map_new(2_MiB);
    char path[] = "/tmp/plat-test-XXXXXX";
    const int own = mkstemp(path);
    unlink(path);
    int reused = 0;
    for (int fd = 3; fd < 1024; ++fd) {
      char target[64] = {};
      const std::string link = "/proc/self/fd/" + std::to_string(fd);
      if (readlink(link.c_str(), target, sizeof target - 1) <= 0) continue;
      if (std::string(target).find("plat-memory") == std::string::npos) continue;
      EXPECT_EQ(dup2(own, fd), fd);
      ++reused;
    }
    EXPECT_GT(reused, 0);
    void* after = map_new(2_MiB);
    for (void* va : {before, after}) {
      char value = 0;
      EXPECT_EQ(aclrtMemset(va, 2_MiB, 42, 2_MiB), ACL_SUCCESS) << aclGetRecentErrMsg();
      EXPECT_EQ(aclrtMemcpy(&value, 1, va, 1, ACL_MEMCPY_DEVICE_TO_HOST), ACL_SUCCESS);
      EXPECT_EQ(value, 42);
      EXPECT_EQ(aclrtUnmapMem(va), ACL_SUCCESS);
    }
    EXPECT_EQ(lseek(own, 0, SEEK_END), 0);
  });
}

// The numbers of the control file, as far as they are open.
std::vector<int> numbers_of(const std::string& path) {
  struct stat wanted {};
  EXPECT_EQ(stat(path.c_str(), &wanted), 0);
  std::vector<int> numbers;
  for (int fd = 3; fd < 1024; ++fd) {
    // By name: another thread may be opening the number at this moment.
    char name[32];
    snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
    if (struct stat info{};
        stat(name, &info) == 0 && info.st_dev == wanted.st_dev && info.st_ino == wanted.st_ino)
      numbers.push_back(fd);
  }
  return numbers;
}

// The number of the control file is a file of the program's by now: a lock of that one keeps nobody out. The
// test holds the device's lock, as another process would, and a change waits for it.
TEST(Files, NumberOfTheControlFileMayBeReused) {
  in_child([] {
    const Machine machine;
    const Directory directory;
    const std::string log = std::string(directory.path()) + "/log";
    unsetenv("PLAT_DIR");
    setenv("PLAT_LOG", "warning", 1);
    setenv("PLAT_LOG_FILE", log.c_str(), 1);
    EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    char path[] = "/tmp/plat-test-XXXXXX";
    const int own = mkstemp(path);
    unlink(path);
    const std::vector<int> numbers = numbers_of(machine.control_file());
    EXPECT_FALSE(numbers.empty());
    for (const int number : numbers) EXPECT_EQ(dup2(own, number), number);
    const int other = open(machine.control_file().c_str(), O_RDWR | O_CLOEXEC);
    EXPECT_EQ(os::try_lock_byte(other, device::kDeviceLockByte), 0);
    std::atomic<bool> is_free{false};
    std::atomic<bool> is_done{false};
    std::thread change([&] {
      EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
      EXPECT_NE(allocate(2_MiB), nullptr) << aclGetRecentErrMsg();
      EXPECT_TRUE(is_free) << "a change while another held the lock";
      is_done = true;
    });
    // Until it says that it waits, which it does after a second.
    while (!is_done && os::read_small_file(log).value_or("").find("waiting") == std::string::npos)
      sched_yield();
    is_free = true;
    EXPECT_EQ(os::unlock_byte(other, device::kDeviceLockByte), 0);
    change.join();
    // The program's own files are as they were: open, and nothing is locked in them.
    for (const int number : numbers) EXPECT_EQ(*os::identify(number), *os::identify(own));
  });
}

// One thread waits to join, which the test keeps it from; another forks. The child would keep the file, and
// with it whatever its parent locks there later.
TEST(Files, AChildForkedWhileADeviceOpensKeepsNoneOfItsFiles) {
  in_child([] {
    const Machine machine;
    EXPECT_EQ(aclInit(nullptr), ACL_SUCCESS);
    EXPECT_EQ(os::make_private_directory(device::Node::default_directory()), 0);
    const int other = open(machine.control_file().c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    EXPECT_EQ(os::try_lock_byte(other, device::kAttachLockByte), 0);
    std::thread opener([] { EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS) << aclGetRecentErrMsg(); });
    while (numbers_of(machine.control_file()).size() < 2) sched_yield();
    // More than once: the first may come before the thread has noted which file it is.
    const auto kept_by_a_child = [&] {
      const pid_t child = fork();
      if (child == 0) _exit(numbers_of(machine.control_file()) == std::vector{other} ? 0 : 1);
      int status = 0;
      EXPECT_EQ(waitpid(child, &status, 0), child);
      return status != 0;
    };
    int attempts = 0;
    while (kept_by_a_child() && attempts < 100) ++attempts;
    EXPECT_LT(attempts, 100);
    EXPECT_EQ(os::unlock_byte(other, device::kAttachLockByte), 0);
    opener.join();
  });
}

// A limit that is set once the device is open ends no program: what the file does not take goes through
// memory.
TEST(Files, LimitOfFileSizesThatComesLaterIsNoSignal) {
  in_child([] {
    const Machine machine;
    EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    void* memory = map_new(8_MiB);
    const rlimit limit{1_MiB, 1_MiB};
    EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
    const std::vector<char> bytes(8_MiB, 42);
    EXPECT_EQ(aclrtMemcpy(memory, 8_MiB, bytes.data(), 8_MiB, ACL_MEMCPY_HOST_TO_DEVICE), ACL_SUCCESS)
        << aclGetRecentErrMsg();
    std::vector<char> back(8_MiB);
    EXPECT_EQ(aclrtMemcpy(back.data(), 8_MiB, memory, 8_MiB, ACL_MEMCPY_DEVICE_TO_HOST), ACL_SUCCESS);
    EXPECT_TRUE(back == bytes);
  });
}

// A store into a mapped file that has no room would kill the process.
TEST(Files, DirectoryWithoutRoomIsAnError) {
  const Directory directory;
  in_child([&] {
    const Machine machine;
    directory.limit("64k");
    EXPECT_EQ(aclrtSetDevice(0), ACL_ERROR_RT_DEV_SETUP_ERROR);
    const std::string message = aclGetRecentErrMsg();
    EXPECT_NE(message.find("DEV-Open"), std::string::npos) << message;
    EXPECT_NE(message.find("No space left"), std::string::npos) << message;
  });
}

// Room for some pages of the device, not for all.
TEST(Files, PagesThatTheDirectoryHasNoRoomForAreAnError) {
  for (const char* access : {"deny", "allow"}) {
    const Directory directory;
    in_child([&] {
      const Machine machine;
      directory.limit("40m");
      setenv("PLAT_HOST_ACCESS", access, 1);
      EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS) << aclGetRecentErrMsg();
      auto* memory = static_cast<char*>(map_new(60_MiB));
      const std::vector<char> page(2_MiB, 1);
      aclError code = ACL_SUCCESS;
      for (uint64_t at = 0; at < 60_MiB && code == ACL_SUCCESS; at += 2_MiB)
        code = aclrtMemcpy(memory + at, 2_MiB, page.data(), 2_MiB, ACL_MEMCPY_HOST_TO_DEVICE);
      EXPECT_EQ(code, ACL_ERROR_RT_MEMORY_ALLOCATION);
      EXPECT_NE(std::string(aclGetRecentErrMsg()).find("MEM-Machine-memory"), std::string::npos)
          << aclGetRecentErrMsg();
    });
  }
}

TEST(Files, RemovalNeverMeetsAProcessThatJoins) {
  in_child([] {
    const Machine machine;
    const Directory directory;
    Peer remover([&](Channel&) {
      for (;;)
        for (const device::Machine& found : device::find_machines(directory.path()))
          device::remove_machine(directory.path(), found, false);
    });
    for (int round = 0; round < 50; ++round) {
      Peer first([](Channel& channel) {
        EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS) << aclGetRecentErrMsg();
        EXPECT_NE(allocate(4_MiB), nullptr);
        channel.send(0);
        channel.receive();
      });
      first.channel().receive();
      Peer second([](Channel&) {
        EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS) << aclGetRecentErrMsg();
        EXPECT_EQ(used_bytes(), 4_MiB);  // and not a machine of its own
      });
      EXPECT_TRUE(second.join());
      first.channel().send(0);
      EXPECT_TRUE(first.join());
    }
  });
}

// The first process decides; the others take what is there unless they were told otherwise.
TEST(Files, RunningMachineGivesItsProductAndCapacity) {
  in_child([] {
    const Machine machine;
    Peer first([](Channel& channel) {
      setenv("PLAT_PRODUCT", "a3", 1);
      setenv("PLAT_CAPACITY", "32MiB", 1);
      EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
      channel.send_text(aclrtGetSocName());
      channel.receive();
    });
    const std::string name = first.channel().receive_text();
    Peer other([&](Channel&) {
      setenv("PLAT_CAPACITY", "64MiB", 1);
      EXPECT_NE(aclrtSetDevice(0), ACL_SUCCESS);
      EXPECT_NE(std::string(aclGetRecentErrMsg()).find("DEV-Machine-match"), std::string::npos)
          << aclGetRecentErrMsg();
    });
    EXPECT_TRUE(other.join());
    unsetenv("PLAT_CAPACITY");
    EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS) << aclGetRecentErrMsg();
    EXPECT_EQ(aclrtGetSocName(), name);
    size_t free_bytes = 0;
    size_t total_bytes = 0;
    EXPECT_EQ(aclrtGetMemInfo(ACL_HBM_MEM, &free_bytes, &total_bytes), ACL_SUCCESS);
    EXPECT_EQ(total_bytes, 32_MiB);
  });
}

// Standard error becomes a pipe that is full and that nobody reads.
void block_standard_error() {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_NONBLOCK), 0);
  const char filler[512] = {};
  while (write(ends[1], filler, sizeof filler) > 0) {
  }
  ASSERT_EQ(fcntl(ends[1], F_SETFL, 0), 0);
  ASSERT_EQ(dup2(ends[1], 2), 2);
}

// A warning goes to somebody who does not read; that must stop the process that is warned, and no other.
TEST(Files, WarningThatNobodyReadsKeepsNoLock) {
  in_child([] {
    const Machine machine;
    Peer exporter([](Channel& channel) {
      uint64_t number = 0;
      EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
      EXPECT_EQ(aclrtMemExportToShareableHandle(allocate(2_MiB), ACL_MEM_HANDLE_TYPE_NONE, 1, &number),
                ACL_SUCCESS);
      channel.send(number);
      channel.receive();
    });
    const uint64_t number = exporter.channel().receive();
    Peer importer([&](Channel& channel) {
      setenv("PLAT_LOG", "warning", 1);
      setenv("PLAT_RULES", "SHARE-Import-once=warning", 1);
      EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
      aclrtDrvMemHandle handle = nullptr;
      EXPECT_EQ(aclrtMemImportFromShareableHandle(number, 0, &handle), ACL_SUCCESS) << aclGetRecentErrMsg();
      block_standard_error();
      channel.send(0);
      aclrtMemImportFromShareableHandle(number, 0, &handle);
      channel.send(0);
    });
    importer.channel().receive();
    while (test::state_of(importer.pid()) != 'S') sched_yield();
    EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    EXPECT_NE(allocate(4_MiB), nullptr);
    EXPECT_EQ(used_bytes(), 6_MiB);
    importer.kill_now();
  });
}

}  // namespace
}  // namespace plat::test
