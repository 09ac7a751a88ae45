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

#include <filesystem>

#include "base/units.h"
#include "device/ledger_layout.h"
#include "support/machine.h"
#include "support/peer.h"

namespace plat::test {
namespace {

#define IN_CHILD(body)              \
  do {                              \
    Peer child_([](Channel&) body); \
    EXPECT_TRUE(child_.join());     \
  } while (false)

// A process that holds 4 MiB and waits.
void hold(Channel& channel) {
  EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  EXPECT_NE(allocate(4_MiB), nullptr);
  channel.send(0);
  channel.receive();
}

TEST(Lifecycle, KilledProcessGivesItsMemoryBack) {
  IN_CHILD({
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
  IN_CHILD({
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
  IN_CHILD({
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

TEST(Lifecycle, ForkedChildThatEndsTakesNothingAlong) {
  IN_CHILD({
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
  IN_CHILD({
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

TEST(Lifecycle, ClosingAllFilesDoesNotCostTheMemory) {
  IN_CHILD({
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

void* wait_for_ever(void*) {
  for (;;) pause();
}

TEST(Lifecycle, MainThreadMayEndBeforeTheOthers) {
  IN_CHILD({
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
    usleep(20000);  // whether it has ended by now or not, the answer must be the same
    EXPECT_EQ(used_bytes(), 4_MiB);
  });
}

TEST(Lifecycle, NextProcessFindsACleanMachineAfterTheLastOneCrashed) {
  IN_CHILD({
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
  IN_CHILD({
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
  IN_CHILD({
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

TEST(Lifecycle, DirectoryThatOthersCanWriteToIsRefused) {
  IN_CHILD({
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

// Two containers with pid numbers of their own and a directory in common.
TEST(Lifecycle, PidNamespacesShareADeviceThroughADirectory) {
  IN_CHILD({
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
    Peer outside(hold);
    outside.channel().receive();
    ASSERT_EQ(unshare(CLONE_NEWPID), 0);  // for the children to come
    Peer inside([](Channel& channel) {
      EXPECT_EQ(getpid(), 1);
      EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS) << aclGetRecentErrMsg();
      EXPECT_EQ(used_bytes(), 4_MiB);
      EXPECT_NE(allocate(2_MiB), nullptr);
      int32_t name = 0;
      EXPECT_EQ(aclrtDeviceGetBareTgid(&name), ACL_SUCCESS);
      EXPECT_GE(name, 0x40000000);  // pid 1 would be somebody else's name
      channel.send(0);
      channel.receive();
      EXPECT_EQ(used_bytes(), 2_MiB);
      channel.send(0);
    });
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
  IN_CHILD({
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
