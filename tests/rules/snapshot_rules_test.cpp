// SPDX-License-Identifier: Apache-2.0
// Process snapshots: every rule broken and kept; contents come back, calls are held up, and nothing else
// changes.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "rules/memory_fixture.h"
#include "support/peer.h"

namespace plat::rule_test {
namespace {

// aclrtSnapShotProcessLock of this process.
aclError lock() { return aclrtSnapShotProcessLock(getpid(), nullptr); }
// aclrtSnapShotProcessUnlock of this process.
aclError unlock() { return aclrtSnapShotProcessUnlock(getpid(), nullptr); }
// aclrtSnapShotProcessBackup of this process.
aclError back_up() { return aclrtSnapShotProcessBackup(getpid(), nullptr); }
// aclrtSnapShotProcessRestore of this process.
aclError restore() { return aclrtSnapShotProcessRestore(getpid(), nullptr); }

// Whether all bytes of device memory are `value`.
bool is_filled(const void* memory, size_t size, char value) {
  std::vector<char> host(size);
  EXPECT_OK(aclrtMemcpy(host.data(), size, memory, size, ACL_MEMCPY_DEVICE_TO_HOST));
  return std::all_of(host.begin(), host.end(), [&](char byte) { return byte == value; });
}

RULE_BROKEN(SnapshotProcess) {
  EXPECT_OK(aclrtSetDevice(0));
  EXPECT_BREAKS(aclrtSnapShotProcessLock(getppid(), nullptr));
  EXPECT_BREAKS(aclrtSnapShotProcessUnlock(0, nullptr));
  EXPECT_BREAKS(aclrtSnapShotProcessBackup(-1, nullptr));
  EXPECT_BREAKS(aclrtSnapShotProcessRestore(1, nullptr));
}
RULE_KEPT(SnapshotProcess) {
  EXPECT_OK(aclrtSetDevice(0));
  EXPECT_OK(aclrtSnapShotProcessLock(getpid(), nullptr));
  EXPECT_OK(aclrtSnapShotProcessUnlock(getpid(), nullptr));
}

RULE_BROKEN(SnapshotLock) {
  EXPECT_OK(aclrtSetDevice(0));
  EXPECT_OK(lock());
  EXPECT_BREAKS(aclrtSnapShotProcessLock(getpid(), nullptr));
  std::thread([] { EXPECT_BREAKS(lock()); }).join();
  EXPECT_OK(back_up());
  EXPECT_BREAKS(lock());
}
RULE_KEPT(SnapshotLock) {
  EXPECT_OK(aclrtSetDevice(0));
  for (int i = 0; i < 3; ++i) {
    EXPECT_OK(lock());
    EXPECT_OK(unlock());
  }
}

RULE_BROKEN(SnapshotTimeout, {"PLAT_SNAPSHOT_WAIT", "50"}) {
  EXPECT_OK(aclrtSetDevice(0));
  aclrtStream stream = nullptr;
  EXPECT_OK(aclrtCreateStream(&stream));
  void* flag = malloc_device();
  EXPECT_OK(aclrtMemset(flag, 8, 0, 8));
  EXPECT_OK(aclrtValueWait(flag, 1, ACL_STREAM_WAIT_VALUE_EQ, stream));
  EXPECT_BREAKS(aclrtSnapShotProcessLock(getpid(), nullptr));

  // Nothing is held up after it.
  std::thread([&] {
    EXPECT_OK(aclrtSetDevice(0));
    EXPECT_OK(aclrtValueWrite(flag, 1, 0, nullptr));
  }).join();
  EXPECT_OK(aclrtSynchronizeDevice());
  EXPECT_OK(lock());
  EXPECT_OK(unlock());
}
RULE_KEPT(SnapshotTimeout) {
  EXPECT_OK(aclrtSetDevice(0));
  aclrtStream stream = nullptr;
  EXPECT_OK(aclrtCreateStream(&stream));
  char* memory = static_cast<char*>(malloc_device(4_MiB));
  for (int i = 0; i < 50; ++i) EXPECT_OK(aclrtMemsetAsync(memory, 4_MiB, i, 4_MiB, stream));
  EXPECT_OK(lock());

  EXPECT_EQ(aclrtStreamQuery(stream, nullptr), 100000);
  aclrtStreamStatus status = ACL_STREAM_STATUS_NOT_READY;
  EXPECT_OK(aclrtStreamQuery(stream, &status));
  EXPECT_EQ(status, ACL_STREAM_STATUS_COMPLETE);
  EXPECT_OK(unlock());
}

RULE_BROKEN(SnapshotUnlock) {
  EXPECT_OK(aclrtSetDevice(0));
  EXPECT_BREAKS(aclrtSnapShotProcessUnlock(getpid(), nullptr));
  EXPECT_OK(lock());
  EXPECT_OK(unlock());
  EXPECT_BREAKS(unlock());
}
RULE_KEPT(SnapshotUnlock) {
  EXPECT_OK(aclrtSetDevice(0));
  EXPECT_OK(lock());
  EXPECT_OK(back_up());
  EXPECT_OK(unlock());
}

RULE_BROKEN(SnapshotBackup) {
  EXPECT_OK(aclrtSetDevice(0));
  EXPECT_BREAKS(aclrtSnapShotProcessBackup(getpid(), nullptr));
}
RULE_KEPT(SnapshotBackup) {
  EXPECT_OK(aclrtSetDevice(0));
  void* memory = malloc_device(4_MiB);
  EXPECT_OK(aclrtMemset(memory, 4_MiB, 1, 4_MiB));
  EXPECT_OK(lock());
  EXPECT_OK(back_up());

  // The last one counts.
  EXPECT_OK(aclrtMemset(memory, 4_MiB, 2, 4_MiB));
  EXPECT_OK(back_up());
  EXPECT_OK(aclrtMemset(memory, 4_MiB, 3, 4_MiB));
  EXPECT_OK(restore());
  EXPECT_TRUE(is_filled(memory, 4_MiB, 2));
  EXPECT_OK(unlock());
}

RULE_BROKEN(SnapshotRestore) {
  EXPECT_OK(aclrtSetDevice(0));
  void* first = malloc_device(4_MiB);
  void* second = malloc_device(4_MiB);
  EXPECT_OK(aclrtMemset(second, 4_MiB, 5, 4_MiB));
  EXPECT_BREAKS(aclrtSnapShotProcessRestore(getpid(), nullptr));

  EXPECT_OK(lock());
  EXPECT_BREAKS(restore());
  EXPECT_OK(back_up());
  EXPECT_OK(aclrtFree(first));
  first = malloc_device(4_MiB);  // the same place, another block
  EXPECT_OK(aclrtMemset(second, 4_MiB, 6, 4_MiB));
  EXPECT_BREAKS(restore());
  EXPECT_TRUE(is_filled(second, 4_MiB, 6)) << "nothing was written";
  EXPECT_OK(unlock());
}
RULE_KEPT(SnapshotRestore) {
  Memory m;
  m.map();
  void* block = malloc_device(4_MiB);
  EXPECT_OK(aclrtMemset(m.va, 2_MiB, 1, 2_MiB));
  EXPECT_OK(aclrtMemset(block, 4_MiB, 2, 4_MiB));
  EXPECT_OK(lock());
  EXPECT_OK(back_up());
  EXPECT_OK(aclrtMemset(m.va, 2_MiB, 9, 2_MiB));
  EXPECT_OK(aclrtMemset(block, 4_MiB, 9, 4_MiB));
  EXPECT_OK(restore());
  EXPECT_OK(unlock());
  EXPECT_TRUE(is_filled(m.va, 2_MiB, 1));
  EXPECT_TRUE(is_filled(block, 4_MiB, 2));
}

uint32_t succeed(int32_t, void*) { return 0; }
uint32_t refuse(int32_t, void*) { return 3; }

RULE_BROKEN(SnapshotCallback) {
  const auto stage = [](int number) { return static_cast<aclrtSnapShotStage>(number); };
  EXPECT_BREAKS(aclrtSnapShotCallbackRegister(stage(6), succeed, nullptr));
  EXPECT_BREAKS(aclrtSnapShotCallbackRegister(stage(-1), succeed, nullptr));
  EXPECT_BREAKS(aclrtSnapShotCallbackRegister(ACL_RT_SNAPSHOT_LOCK_PRE, nullptr, nullptr));
  EXPECT_BREAKS(aclrtSnapShotCallbackUnregister(ACL_RT_SNAPSHOT_LOCK_PRE, succeed));
  EXPECT_OK(aclrtSnapShotCallbackRegister(ACL_RT_SNAPSHOT_LOCK_PRE, succeed, nullptr));
  EXPECT_BREAKS(aclrtSnapShotCallbackUnregister(ACL_RT_SNAPSHOT_BACKUP_PRE, succeed));
  EXPECT_BREAKS(aclrtSnapShotCallbackUnregister(ACL_RT_SNAPSHOT_LOCK_PRE, refuse));
}
RULE_KEPT(SnapshotCallback) {
  EXPECT_OK(aclrtSnapShotCallbackRegister(ACL_RT_SNAPSHOT_UNLOCK_POST, succeed, nullptr));
  EXPECT_OK(aclrtSnapShotCallbackUnregister(ACL_RT_SNAPSHOT_UNLOCK_POST, succeed));
}

RULE_BROKEN(SnapshotCallbackTwice) {
  EXPECT_OK(aclrtSnapShotCallbackRegister(ACL_RT_SNAPSHOT_LOCK_PRE, succeed, nullptr));
  int other = 0;
  EXPECT_BREAKS(aclrtSnapShotCallbackRegister(ACL_RT_SNAPSHOT_LOCK_PRE, succeed, &other));
}
RULE_KEPT(SnapshotCallbackTwice) {
  EXPECT_OK(aclrtSnapShotCallbackRegister(ACL_RT_SNAPSHOT_LOCK_PRE, succeed, nullptr));
  EXPECT_OK(aclrtSnapShotCallbackRegister(ACL_RT_SNAPSHOT_BACKUP_PRE, succeed, nullptr));
  EXPECT_OK(aclrtSnapShotCallbackRegister(ACL_RT_SNAPSHOT_LOCK_PRE, refuse, nullptr));
}

RULE_BROKEN(SnapshotCallbackFailed) {
  EXPECT_OK(aclrtSetDevice(0));
  EXPECT_OK(aclrtSnapShotCallbackRegister(ACL_RT_SNAPSHOT_LOCK_PRE, refuse, nullptr));
  EXPECT_BREAKS(aclrtSnapShotProcessLock(getpid(), nullptr));

  EXPECT_EQ(unlock(), 507907) << "it was not locked";
  EXPECT_OK(aclrtSnapShotCallbackUnregister(ACL_RT_SNAPSHOT_LOCK_PRE, refuse));
  EXPECT_OK(aclrtSnapShotCallbackRegister(ACL_RT_SNAPSHOT_RESTORE_PRE, refuse, nullptr));
  void* memory = malloc_device(4_MiB);
  EXPECT_OK(lock());
  EXPECT_OK(back_up());
  EXPECT_OK(aclrtMemset(memory, 4_MiB, 1, 4_MiB));
  EXPECT_BREAKS(restore());
  EXPECT_TRUE(is_filled(memory, 4_MiB, 1)) << "nothing was written";
  EXPECT_OK(unlock());
}
RULE_KEPT(SnapshotCallbackFailed) {
  EXPECT_OK(aclrtSetDevice(1));
  EXPECT_OK(aclrtSetDevice(0));
  static std::vector<std::pair<int, int>> seen;
  for (int stage = 0; stage <= ACL_RT_SNAPSHOT_UNLOCK_POST; ++stage)
    EXPECT_OK(aclrtSnapShotCallbackRegister(
        static_cast<aclrtSnapShotStage>(stage),
        [](int32_t device, void* args) -> uint32_t {
          seen.emplace_back(static_cast<int>(reinterpret_cast<uintptr_t>(args)), device);
          return 0;
        },
        reinterpret_cast<void*>(static_cast<uintptr_t>(stage))));
  EXPECT_OK(lock());
  EXPECT_OK(back_up());
  EXPECT_OK(restore());
  EXPECT_OK(unlock());
  std::vector<std::pair<int, int>> all;
  for (int stage = 0; stage <= ACL_RT_SNAPSHOT_UNLOCK_POST; ++stage)
    for (int device = 0; device < 2; ++device) all.emplace_back(stage, device);
  EXPECT_EQ(seen, all);
}

TEST(Snapshot, ChecksInOrder) {
  run({}, [] {
    int other = 0;
    aclrtSnapShotBackupArgs backup{};
    aclrtSnapShotRestoreArgs restored{};
    EXPECT_EQ(aclrtSnapShotProcessLock(0, &other), 100000);
    EXPECT_EQ(aclrtSnapShotProcessLock(getpid(), &other), 100000);
    EXPECT_EQ(aclrtSnapShotProcessUnlock(getpid(), &other), 100000);
    EXPECT_EQ(aclrtSnapShotProcessBackup(getpid(), &backup), 100000);
    EXPECT_EQ(aclrtSnapShotProcessRestore(getpid(), &restored), 100000);
    EXPECT_EQ(unlock(), 507907);
    EXPECT_EQ(back_up(), 507908);
    EXPECT_EQ(restore(), 507909);
  });
  for (const char* product : {"950", "inference", "200"})
    run({{"PLAT_PRODUCT", product}}, [] {
      EXPECT_EQ(aclrtSnapShotProcessLock(0, nullptr), 100000);
      EXPECT_EQ(lock(), 207000);
      EXPECT_EQ(unlock(), 207000);
    });
}

// Handles without mappings, pages never written, small blocks, both devices: all as they were.
TEST(Snapshot, BringsBackEveryKindOfMemory) {
  run({}, [] {
    Memory m;
    char* small[3];
    for (char*& block : small) {
      void* made = nullptr;
      EXPECT_OK(aclrtMalloc(&made, 4096, ACL_MEM_MALLOC_NORMAL_ONLY));
      block = static_cast<char*>(made);
      EXPECT_OK(aclrtMemset(block, 4096, static_cast<int>(&block - small) + 1, 4096));
    }
    void* cold = malloc_device(6_MiB);
    EXPECT_OK(aclrtSetDevice(1));
    void* there = malloc_device(2_MiB);
    EXPECT_OK(aclrtMemset(there, 2_MiB, 8, 2_MiB));
    EXPECT_OK(aclrtSetDevice(0));
    m.map();
    EXPECT_OK(aclrtMemset(m.va, 2_MiB, 4, 2_MiB));
    EXPECT_OK(aclrtUnmapMem(m.va));
    EXPECT_OK(lock());
    EXPECT_OK(back_up());
    m.map();
    for (void* block : {static_cast<void*>(small[0]), static_cast<void*>(small[2]), cold, there, m.va})
      EXPECT_OK(aclrtMemset(block, 4096, 77, 4096));
    EXPECT_OK(aclrtMemset(offset(cold, 4_MiB), 64, 77, 64));
    EXPECT_OK(restore());
    EXPECT_OK(unlock());
    for (int i = 0; i < 3; ++i) EXPECT_TRUE(is_filled(small[i], 4096, static_cast<char>(i + 1)));
    EXPECT_TRUE(is_filled(cold, 6_MiB, 0));
    EXPECT_TRUE(is_filled(there, 2_MiB, 8));
    EXPECT_TRUE(is_filled(m.va, 2_MiB, 4));
  });
}

// Calls of other threads wait for the unlock; questions are answered; the thread that locked goes on.
TEST(Snapshot, HoldsUpOtherThreads) {
  run({}, [] {
    EXPECT_OK(aclrtSetDevice(0));
    void* memory = malloc_device(4_MiB);
    std::atomic<bool> unlocked{false};
    std::atomic<int> through{0};
    EXPECT_OK(lock());
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([&] {
        size_t free = 0, total = 0;
        uint32_t count = 0;
        EXPECT_OK(aclrtGetDeviceCount(&count));
        EXPECT_OK(aclrtSetDevice(0));  // waits
        EXPECT_TRUE(unlocked);
        EXPECT_OK(aclrtGetMemInfo(ACL_HBM_MEM, &free, &total));
        EXPECT_OK(aclrtMemset(memory, 64, 1, 64));
        ++through;
      });
    EXPECT_OK(aclrtMemset(memory, 64, 2, 64));
    EXPECT_OK(back_up());
    EXPECT_EQ(through, 0);
    unlocked = true;
    EXPECT_OK(unlock());
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(through, 4);
  });
}

// Threads copy and fill all the time; what is backed up is one moment of it, and comes back as that.
TEST(Snapshot, IsOfOneMoment) {
  run({}, [] {
    EXPECT_OK(aclrtSetDevice(0));
    constexpr int kThreads = 3;
    std::vector<char*> blocks;
    for (int i = 0; i < kThreads; ++i) blocks.push_back(static_cast<char*>(malloc_device(2_MiB - 64)));
    std::atomic<bool> done{false};
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i)
      threads.emplace_back([&, i] {
        EXPECT_OK(aclrtSetDevice(0));
        aclrtStream stream = nullptr;
        EXPECT_OK(aclrtCreateStream(&stream));
        for (int round = 0; !done; ++round) {
          EXPECT_OK(aclrtMemset(blocks[i], 64_KiB, round % 100, 64_KiB));
          EXPECT_OK(aclrtMemsetAsync(blocks[i] + 1_MiB, 64_KiB, round % 100, 64_KiB, stream));
          EXPECT_OK(aclrtSynchronizeStream(stream));
        }
        EXPECT_OK(aclrtDestroyStream(stream));
      });
    const auto content = [&](int i, size_t at) {
      std::vector<char> host(64_KiB);
      EXPECT_OK(aclrtMemcpy(host.data(), 64_KiB, blocks[i] + at, 64_KiB, ACL_MEMCPY_DEVICE_TO_HOST));
      return host;
    };
    for (int round = 0; round < 20; ++round) {
      EXPECT_OK(lock());
      std::vector<std::vector<char>> before;
      for (int i = 0; i < kThreads; ++i)
        for (const size_t at : {size_t{0}, 1_MiB}) {
          before.push_back(content(i, at));
          EXPECT_EQ(before.back().front(), before.back().back()) << "a fill is whole";
        }
      EXPECT_OK(back_up());
      for (char* block : blocks) EXPECT_OK(aclrtMemset(block, 2_MiB - 64, 111, 2_MiB - 64));
      EXPECT_OK(restore());
      size_t next = 0;
      for (int i = 0; i < kThreads; ++i)
        for (const size_t at : {size_t{0}, 1_MiB}) EXPECT_EQ(content(i, at), before[next++]);
      EXPECT_OK(unlock());
      std::this_thread::yield();
    }
    done = true;
    for (std::thread& thread : threads) thread.join();
  });
}

// A thread of the client's that waits for callbacks is not in the way.
TEST(Snapshot, LetsReportsBeWaitedFor) {
  run({}, [] {
    EXPECT_OK(aclrtSetDevice(0));
    std::atomic<bool> stop{false};
    std::atomic<int> called{0};
    aclrtStream stream = nullptr;
    EXPECT_OK(aclrtCreateStream(&stream));
    std::thread reports([&] {
      while (!stop) (void)aclrtProcessReport(5);
    });
    EXPECT_OK(aclrtSubscribeReport(static_cast<uint64_t>(reports.native_handle()), stream));
    EXPECT_OK(aclrtLaunchCallback([](void* count) { ++*static_cast<std::atomic<int>*>(count); }, &called,
                                  ACL_CALLBACK_BLOCK, stream));
    EXPECT_OK(lock());
    EXPECT_EQ(called, 1) << "streams have done what they were given";
    EXPECT_OK(unlock());
    EXPECT_OK(aclrtUnSubscribeReport(static_cast<uint64_t>(reports.native_handle()), stream));
    stop = true;
    reports.join();
  });
}

// While another process has memory of the device nothing is restored; once it is gone it works.
TEST(Snapshot, WantsTheDeviceForItself) {
  const std::string node = "snapshot-" + std::to_string(getpid());
  run({{"PLAT_NODE", node}}, [] {
    test::Peer peer([](test::Channel& channel) {
      EXPECT_OK(aclrtSetDevice(0));
      void* memory = malloc_device(2_MiB);
      channel.send(1);
      channel.receive();
      EXPECT_OK(aclrtFree(memory));
      channel.send(2);
      channel.receive();
    });
    peer.channel().receive();
    EXPECT_OK(aclrtSetDevice(0));
    void* memory = malloc_device(2_MiB);
    EXPECT_OK(aclrtMemset(memory, 64, 1, 64));
    EXPECT_OK(lock());
    EXPECT_OK(back_up());
    EXPECT_OK(aclrtMemset(memory, 64, 2, 64));
    EXPECT_EQ(restore(), 507909);
    EXPECT_NE(std::string(aclGetRecentErrMsg()).find(std::to_string(peer.pid())), std::string::npos);
    peer.channel().send(1);
    peer.channel().receive();
    EXPECT_OK(restore());
    EXPECT_TRUE(is_filled(memory, 64, 1));
    EXPECT_OK(unlock());
    peer.channel().send(1);
    EXPECT_TRUE(peer.join());
  });
}

// A child that is forked while its parent is locked starts afresh and is held up by nothing.
TEST(Snapshot, IsNotOfAForkedChild) {
  run({}, [] {
    EXPECT_OK(aclrtSetDevice(0));
    EXPECT_OK(lock());
    test::in_child([] {
      EXPECT_OK(aclInit(nullptr));
      EXPECT_EQ(unlock(), 507907);
      std::thread([] { EXPECT_OK(aclrtSetDevice(0)); }).join();
      EXPECT_OK(lock());
      EXPECT_OK(unlock());
    });
    EXPECT_OK(unlock());
  });
}

}  // namespace
}  // namespace plat::rule_test
