// SPDX-License-Identifier: Apache-2.0
// What becomes of a process's memory when the process ends, forks, turns into another program, or misbehaves.
// Each test runs in a child of its own, so that every one starts without a runtime.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <thread>

#include "base/units.h"
#include "device/ledger_layout.h"
#include "support/machine.h"
#include "support/peer.h"
#include "support/thread_state.h"

namespace plat::test {
namespace {

// A process that holds 4 MiB and waits.
void hold(Channel& channel) {
  EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  EXPECT_NE(allocate(4_MiB), nullptr);
  channel.send(0);
  channel.receive();
}

TEST(Lifecycle, KilledProcessGivesItsMemoryBack) {
  in_child([] {
    const Machine machine;
    Peer peer(hold);
    peer.channel().receive();
    EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    EXPECT_EQ(used_bytes(), 4_MiB);
    peer.kill_now();
    EXPECT_EQ(used_bytes(), 0u);
  });
}

TEST(Lifecycle, ZombieHoldsNothing) {
  in_child([] {
    const Machine machine;
    Peer peer(hold);
    peer.channel().receive();
    EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    kill(peer.pid(), SIGKILL);
    siginfo_t info{};
    waitid(P_PID, static_cast<id_t>(peer.pid()), &info, WEXITED | WNOWAIT);  // dead, but not waited for
    EXPECT_EQ(used_bytes(), 0u);
  });
}

TEST(Lifecycle, ExecGivesMemoryBackThoughThePidLivesOn) {
  in_child([] {
    const Machine machine;
    int line[2];
    EXPECT_EQ(pipe(line), 0);
    Peer peer([&line](Channel& channel) {
      EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
      EXPECT_NE(allocate(4_MiB), nullptr);
      channel.send(0);
      channel.receive();
      dup2(line[1], STDOUT_FILENO);
      execlp("sh", "sh", "-c", "echo; exec sleep 60", nullptr);
    });
    peer.channel().receive();
    EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    EXPECT_EQ(used_bytes(), 4_MiB);
    peer.channel().send(0);
    // The kernel closes the old program's files on its way into the new one: what the new one writes comes
    // later.
    char written = 0;
    EXPECT_EQ(read(line[0], &written, 1), 1);
    EXPECT_EQ(used_bytes(), 0u);
    EXPECT_EQ(kill(peer.pid(), 0), 0);
  });
}

TEST(Lifecycle, ExecGivesMemoryBackThoughTheNewProgramUsesTheDeviceToo) {
  in_child([] {
    const Machine machine;
    int line[2];
    int held[2];
    EXPECT_EQ(pipe(line), 0);
    EXPECT_EQ(pipe(held), 0);
    Peer peer([&](Channel& channel) {
      EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
      EXPECT_NE(allocate(8_MiB), nullptr);
      channel.send(0);
      channel.receive();
      dup2(held[0], STDIN_FILENO);
      dup2(line[1], STDOUT_FILENO);
      execlp(HOLDER, HOLDER, "0", "4", nullptr);
    });
    peer.channel().receive();
    EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    EXPECT_EQ(used_bytes(), 8_MiB);
    peer.channel().send(0);
    char ready[6] = {};
    EXPECT_EQ(read(line[0], ready, sizeof ready), 6);
    EXPECT_EQ(used_bytes(), 4_MiB);
  });
}

// Without waiting for its end: it holds its lock until the last page is given back.
TEST(Lifecycle, NextProcessNeedNotWaitForTheEndOfTheLast) {
  in_child([] {
    const Machine machine("1GiB");
    Peer last([](Channel& channel) {
      EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
      void* va = map_new(256_MiB);
      EXPECT_EQ(aclrtMemset(va, 256_MiB, 7, 256_MiB), ACL_SUCCESS);
      channel.send(0);
      channel.receive();
    });
    last.channel().receive();
    kill(last.pid(), SIGKILL);
    EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS) << aclGetRecentErrMsg();
    // What it held is its own until it is dead. Its father waits for that, and leaves the rest to its end to
    // the destructor.
    siginfo_t ended{};
    EXPECT_EQ(waitid(P_PID, static_cast<id_t>(last.pid()), &ended, WEXITED | WNOWAIT), 0);
    EXPECT_EQ(used_bytes(), 0u);
    EXPECT_NE(allocate(1_GiB), nullptr) << aclGetRecentErrMsg();
  });
}

// One of them clears what the dead process left; the other must not be told that there is no memory.
TEST(Lifecycle, AllSurvivorsGetTheMemoryOfTheDead) {
  in_child([] {
    const Machine machine("512MiB");
    const auto survivor = [](Channel& channel) {
      EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
      channel.send(0);
      channel.receive();
      EXPECT_NE(allocate(256_MiB), nullptr) << aclGetRecentErrMsg();
      channel.send(0);
      channel.receive();
    };
    Peer one(survivor);
    Peer two(survivor);
    Peer victim([](Channel& channel) {
      EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
      void* va = map_new(512_MiB);
      EXPECT_EQ(aclrtMemset(va, 512_MiB, 7, 512_MiB), ACL_SUCCESS);
      channel.send(0);
      channel.receive();
    });
    for (Peer* peer : {&one, &two, &victim}) peer->channel().receive();
    victim.kill_now();
    for (Peer* peer : {&one, &two}) peer->channel().send(0);
    for (Peer* peer : {&one, &two}) peer->channel().receive();
    for (Peer* peer : {&one, &two}) peer->channel().send(0);
    EXPECT_TRUE(one.join());
    EXPECT_TRUE(two.join());
  });
}

TEST(Lifecycle, LockedMemoryIsClearedToo) {
  in_child([] {
    const Machine machine;
    EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    void* secret = map_new(4_MiB);
    EXPECT_EQ(aclrtMemset(secret, 4_MiB, 'S', 4_MiB), ACL_SUCCESS);
    EXPECT_EQ(mlockall(MCL_CURRENT | MCL_ONFAULT), 0);
    aclrtDrvMemHandle handle = nullptr;
    EXPECT_EQ(aclrtMemRetainAllocationHandle(secret, &handle), ACL_SUCCESS);
    for (int i = 0; i < 2; ++i) EXPECT_EQ(aclrtFreePhysical(handle), ACL_SUCCESS);
    EXPECT_EQ(aclrtUnmapMem(secret), ACL_SUCCESS);
    munlockall();
    void* all = map_new(64_MiB);
    std::vector<char> found(64_MiB);
    EXPECT_EQ(aclrtMemset(all, 1, 0, 1), ACL_SUCCESS);
    EXPECT_EQ(aclrtMemcpy(found.data(), found.size(), all, found.size(), ACL_MEMCPY_DEVICE_TO_HOST),
              ACL_SUCCESS);
    EXPECT_EQ(std::count(found.begin(), found.end(), 'S'), 0);
  });
}

TEST(Lifecycle, KeysOfADeadProcessAreGone) {
  in_child([] {
    const Machine machine;
    const auto exporter = [](Channel& channel) {
      EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
      void* memory = nullptr;
      EXPECT_EQ(aclrtMalloc(&memory, 1_MiB, ACL_MEM_MALLOC_HUGE_ONLY), ACL_SUCCESS);
      char key[65] = {};
      EXPECT_EQ(aclrtIpcMemGetExportKey(memory, 1_MiB, key, sizeof key, 1), ACL_SUCCESS);
      channel.send_text(key);
      channel.receive();
    };
    Peer one(exporter);
    Peer two(exporter);
    const std::string first = one.channel().receive_text();
    const std::string second = two.channel().receive_text();
    EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    void* imported = nullptr;
    EXPECT_EQ(aclrtIpcMemImportByKey(&imported, first.c_str(), 0), ACL_SUCCESS) << aclGetRecentErrMsg();
    one.kill_now();
    two.kill_now();
    EXPECT_EQ(used_bytes(), 2_MiB);  // what was imported before stays
    EXPECT_NE(aclrtIpcMemImportByKey(&imported, second.c_str(), 0), ACL_SUCCESS);
    EXPECT_EQ(aclrtIpcMemClose(first.c_str()), ACL_SUCCESS) << aclGetRecentErrMsg();
    EXPECT_EQ(used_bytes(), 0u);
  });
}

TEST(Lifecycle, ForkedChildSeesNothingOfTheParentsMemory) {
  in_child([] {
    const Machine machine;
    setenv("PLAT_HOST_ACCESS", "allow", 1);
    EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    auto* memory = static_cast<volatile char*>(map_new(2_MiB));
    memory[0] = 'S';
    const pid_t child = fork();
    if (child == 0) {
      signal(SIGSEGV, SIG_DFL);
      _exit(memory[0] == 'S' ? 1 : 2);
    }
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status)) << "exit code " << WEXITSTATUS(status);
    EXPECT_EQ(memory[0], 'S');
  });
}

TEST(Lifecycle, ForkedChildThatEndsTakesNothingAlong) {
  in_child([] {
    const Machine machine;
    EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    void* va = map_new(4_MiB);
    Peer child([](Channel&) {});
    EXPECT_TRUE(child.join());
    EXPECT_EQ(used_bytes(), 4_MiB);
    EXPECT_EQ(aclrtUnmapMem(va), ACL_SUCCESS);
  });
}

TEST(Lifecycle, ParentThatDiesIsNotKeptAliveByItsForkedChild) {
  in_child([] {
    const Machine machine;
    Peer parent([](Channel& channel) {
      EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
      EXPECT_NE(allocate(4_MiB), nullptr);
      if (fork() == 0) {
        channel.send(static_cast<uint64_t>(getpid()));
        for (;;) pause();
      }
      for (;;) pause();
    });
    const auto grandchild = static_cast<pid_t>(parent.channel().receive());
    EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    EXPECT_EQ(used_bytes(), 4_MiB);
    parent.kill_now();
    EXPECT_EQ(used_bytes(), 0u);
    EXPECT_EQ(kill(grandchild, SIGKILL), 0);
  });
}

// Ways to get a child, with and without the handlers that fork runs.
struct ForkKind {
  const char* name;
  pid_t (*make)();
};
const ForkKind kForks[] = {
    {"fork", [] { return fork(); }},
    {"_Fork", [] { return _Fork(); }},
    {"clone", [] { return static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)); }},
};

// The child keeps the parent's files open, and with them the locks of a process that is gone.
TEST(Lifecycle, NobodyWaitsForAProcessWhoseChildKeepsItsFiles) {
  for (const ForkKind& kind : kForks) {
    in_child([&] {
      SCOPED_TRACE(kind.name);
      const Machine machine;
      Peer parent([&](Channel& channel) {
        EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
        EXPECT_NE(allocate(4_MiB), nullptr);
        if (kind.make() == 0) {
          channel.send(static_cast<uint64_t>(getpid()));
          for (;;) pause();
        }
        for (;;) pause();
      });
      const auto grandchild = static_cast<pid_t>(parent.channel().receive());
      parent.kill_now();
      EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS) << aclGetRecentErrMsg();
      EXPECT_EQ(used_bytes(), 0u);
      // A third process finds the second one, not the traces of the first.
      Peer third([](Channel&) {
        EXPECT_EQ(aclInit(nullptr), ACL_SUCCESS);
        EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS) << aclGetRecentErrMsg();
        EXPECT_EQ(used_bytes(), 0u);
      });
      EXPECT_TRUE(third.join());
      EXPECT_EQ(kill(grandchild, SIGKILL), 0);
    });
  }
}

// A child is told that it has no device, and can start afresh.
void expect_told(const ForkKind& kind) {
  in_child([&] {
    SCOPED_TRACE(kind.name);
    const Machine machine;
    EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    EXPECT_NE(allocate(4_MiB), nullptr);
    const pid_t child = kind.make();
    if (child == 0) {
      size_t free_bytes = 0;
      size_t total_bytes = 0;
      if (aclrtGetMemInfo(ACL_HBM_MEM, &free_bytes, &total_bytes) != ACL_ERROR_RT_DEV_SETUP_ERROR) _exit(1);
      if (aclInit(nullptr) != ACL_SUCCESS || aclrtSetDevice(0) != ACL_SUCCESS) _exit(2);
      _exit(used_bytes() == 4_MiB ? 0 : 3);
    }
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    EXPECT_EQ(used_bytes(), 4_MiB);
  });
}

TEST(Lifecycle, AChildIsToldThatItHasNoDeviceAndCanStartAfresh) { expect_told(kForks[0]); }

// No handler runs in these: the kernel clears a page in them (MADV_WIPEONFORK), which emulators may not do.
TEST(Lifecycle, AChildThatNoHandlerSeesIsToldThatItHasNoDevice) {
  expect_told(kForks[1]);
  expect_told(kForks[2]);
}

void* wait_for_ever(void*) {
  for (;;) pause();
}

TEST(Lifecycle, MainThreadMayEndBeforeTheOthers) {
  in_child([] {
    const Machine machine;
    Peer peer([](Channel& channel) {
      EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
      EXPECT_NE(allocate(4_MiB), nullptr);
      pthread_t thread;
      pthread_create(&thread, nullptr, wait_for_ever, nullptr);
      channel.send(0);
      syscall(SYS_exit, 0);  // this thread only
    });
    peer.channel().receive();
    EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    EXPECT_EQ(used_bytes(), 4_MiB);
    while (test::state_of(peer.pid()) != 'Z') sched_yield();
    EXPECT_EQ(used_bytes(), 4_MiB);
  });
}

TEST(Lifecycle, NextProcessFindsACleanMachineAfterTheLastOneCrashed) {
  in_child([] {
    const Machine machine;
    Peer peer(hold);
    peer.channel().receive();
    peer.kill_now();
    EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    EXPECT_EQ(used_bytes(), 0u);
    EXPECT_NE(allocate(64_MiB), nullptr);
  });
}

TEST(Lifecycle, ReusedPidIsNotMistakenForTheDeadProcess) {
  in_child([] {
    const Machine machine;
    Peer peer(hold);
    peer.channel().receive();
    EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    // The dead process's pid now belongs to a living one that maps the same file: this one.
    const int fd = open(machine.control_file().c_str(), O_RDWR);
    auto* header =
        static_cast<device::LedgerHeader*>(mmap(nullptr, 65536, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
    auto* slots =
        reinterpret_cast<device::ProcessSlot*>(reinterpret_cast<char*>(header) + header->slot_offset);
    const pid_t dead = peer.pid();
    peer.kill_now();
    for (uint32_t slot = 0; slot < device::kMaxProcesses; ++slot)
      if (slots[slot].pid == dead) {
        slots[slot].pid = getpid();
        slots[slot].start_time = 1;  // long ago: whoever has the pid now started later
      }
    EXPECT_EQ(used_bytes(), 0u);
  });
}

TEST(Lifecycle, StoppedProcessDisturbsNobody) {
  in_child([] {
    const Machine machine;
    Peer peer(hold);
    peer.channel().receive();
    kill(peer.pid(), SIGSTOP);
    EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    EXPECT_EQ(used_bytes(), 4_MiB);
    EXPECT_NE(allocate(60_MiB), nullptr);
    EXPECT_EQ(allocate(2_MiB), nullptr);
  });
}

// Two containers with pid numbers of their own and a directory in common.
TEST(Lifecycle, PidNamespacesShareADeviceThroughADirectory) {
  in_child([] {
    const Machine machine;
    char directory[] = "/tmp/plat-test-XXXXXX";
    ASSERT_NE(mkdtemp(directory), nullptr);
    setenv("PLAT_DIR", directory, 1);
    const uid_t uid = getuid();
    if (uid != 0) {
      ASSERT_EQ(unshare(CLONE_NEWUSER), 0) << "user namespaces are needed to test this without root";
      const int fd = open("/proc/self/uid_map", O_WRONLY);
      const std::string map = std::to_string(uid) + " " + std::to_string(uid) + " 1";
      EXPECT_EQ(write(fd, map.data(), map.size()), static_cast<ssize_t>(map.size()));
      close(fd);
    }
    Peer outside([](Channel& channel) {
      EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
      EXPECT_NE(allocate(4_MiB), nullptr);
      channel.send(0);
      int32_t name = static_cast<int32_t>(channel.receive());
      uint64_t number = 0;
      EXPECT_EQ(aclrtSetDevice(1), ACL_SUCCESS);
      EXPECT_EQ(aclrtMemExportToShareableHandle(allocate(2_MiB, 1), ACL_MEM_HANDLE_TYPE_NONE, 0, &number),
                ACL_SUCCESS);
      EXPECT_EQ(aclrtMemSetPidToShareableHandle(number, &name, 1), ACL_SUCCESS) << aclGetRecentErrMsg();
      channel.send(number);
      channel.receive();
    });
    outside.channel().receive();
    ASSERT_EQ(unshare(CLONE_NEWPID), 0);  // for the children to come
    Peer inside([](Channel& channel) {
      EXPECT_EQ(getpid(), 1);
      int32_t before = 0;
      EXPECT_EQ(aclrtDeviceGetBareTgid(&before), ACL_SUCCESS);
      EXPECT_EQ(aclrtSetDevice(1), ACL_SUCCESS) << aclGetRecentErrMsg();  // the first process there
      EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS) << aclGetRecentErrMsg();
      EXPECT_EQ(used_bytes(), 4_MiB);
      EXPECT_NE(allocate(2_MiB), nullptr);
      int32_t name = 0;
      EXPECT_EQ(aclrtDeviceGetBareTgid(&name), ACL_SUCCESS);
      EXPECT_GE(name, 0x40000000);  // pid 1 would be somebody else's name
      EXPECT_EQ(before, name);
      channel.send(static_cast<uint64_t>(name));
      aclrtDrvMemHandle handle = nullptr;
      EXPECT_EQ(aclrtMemImportFromShareableHandle(channel.receive(), 1, &handle), ACL_SUCCESS)
          << aclGetRecentErrMsg();
      channel.send(0);
      channel.receive();
      EXPECT_EQ(used_bytes(), 2_MiB);
      channel.send(0);
    });
    outside.channel().send(inside.channel().receive());
    inside.channel().send(outside.channel().receive());
    inside.channel().receive();
    outside.kill_now();
    inside.channel().send(0);
    inside.channel().receive();
    EXPECT_TRUE(inside.join());
    std::filesystem::remove_all(
        directory);  // no further process can start in a namespace whose first one is gone
  });
}

TEST(Lifecycle, TenThousandObjectsComeAndGo) {
  in_child([] {
    const Machine machine("24GiB");
    EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    std::vector<void*> mapped;
    for (int i = 0; i < 10000; ++i) mapped.push_back(map_new(2_MiB));
    EXPECT_EQ(used_bytes(), 20000_MiB);
    for (void* va : mapped) {
      aclrtDrvMemHandle handle = nullptr;
      ASSERT_EQ(aclrtMemRetainAllocationHandle(va, &handle), ACL_SUCCESS);
      ASSERT_EQ(aclrtFreePhysical(handle), ACL_SUCCESS);
      ASSERT_EQ(aclrtFreePhysical(handle), ACL_SUCCESS);
      ASSERT_EQ(aclrtUnmapMem(va), ACL_SUCCESS);
      ASSERT_EQ(aclrtReleaseMemAddress(va), ACL_SUCCESS);
    }
    EXPECT_EQ(used_bytes(), 0u);
  });
}

}  // namespace
}  // namespace plat::test
