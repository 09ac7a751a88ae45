// SPDX-License-Identifier: Apache-2.0
// Host threads that wait for streams which wait for another process: one of them listens for it in place of
// the library's thread. However they come and go, nobody is forgotten.
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <thread>
#include <vector>

#include "rules/stream_fixture.h"
#include "support/peer.h"
#include "support/thread_state.h"

namespace plat::rule_test {
namespace {

using test::Channel;
using test::Peer;

constexpr int kWaiters = 4;
constexpr int kTurns = 100;

// One that other processes may record, and its key.
aclrtNotify make_notify(std::string& key) {
  aclrtNotify notify = nullptr;
  char text[65] = "";
  EXPECT_OK(aclrtCreateNotify(&notify, ACL_NOTIFY_DEFAULT));
  EXPECT_OK(
      aclrtNotifyGetExportKey(notify, text, sizeof text, ACL_RT_NOTIFY_EXPORT_FLAG_DISABLE_PID_VALIDATION));
  key = text;
  return notify;
}

// Records what it is asked for, until it is asked for nothing.
void record(Channel& channel) {
  EXPECT_OK(aclrtSetDevice(0));
  std::vector<aclrtNotify> notifies(2 * kWaiters);
  for (aclrtNotify& notify : notifies)
    EXPECT_OK(aclrtNotifyImportByKey(&notify, channel.receive_text().c_str(), 0));
  for (uint64_t asked = channel.receive(); asked != 0; asked = channel.receive())
    EXPECT_OK(aclrtRecordNotify(notifies[asked - 1], nullptr));
  EXPECT_OK(aclrtSynchronizeStream(nullptr));
}

TEST(NotifyWakes, EveryStreamAndEveryThread) {
  run({}, [] {
    Peer peer(record);
    const Device device;
    std::vector<aclrtNotify> notifies(2 * kWaiters);
    for (aclrtNotify& notify : notifies) {
      std::string key;
      notify = make_notify(key);
      peer.channel().send_text(key);
    }
    std::mutex asking;
    const auto ask = [&](size_t which) {
      const std::lock_guard lock(asking);
      peer.channel().send(which + 1);
    };
    const auto work = [&](size_t own) {
      EXPECT_OK(aclrtSetDevice(0));
      aclrtStream waited = make_stream(), alone = make_stream();  // nobody sleeps for this one
      for (int turn = 0; turn < kTurns; ++turn) {
        EXPECT_OK(aclrtWaitAndResetNotify(notifies[own], waited, 0));
        EXPECT_OK(aclrtWaitAndResetNotify(notifies[kWaiters + own], alone, 0));
        ask(kWaiters + own);
        if (turn % 4 == 0) {
          EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(waited, 1), 507046);
        }
        ask(own);
        EXPECT_OK(aclrtSynchronizeStream(waited));
        while (turn % 2 == 0 && !is_done(alone)) std::this_thread::yield();
        EXPECT_OK(aclrtSynchronizeStream(alone));
      }
      EXPECT_OK(aclrtDestroyStream(waited));
      EXPECT_OK(aclrtDestroyStream(alone));
    };
    std::vector<std::thread> threads;
    for (size_t own = 0; own < kWaiters; ++own) threads.emplace_back(work, own);
    for (std::thread& thread : threads) thread.join();
    peer.channel().send(0);
    EXPECT_TRUE(peer.join());
  });
}

TEST(NotifyWakes, AThreadIsToldOfAnAbort) {
  run({}, [] {
    const Device device;
    std::string key;
    aclrtNotify notify = make_notify(key);
    aclrtStream stream = make_stream();
    EXPECT_OK(aclrtWaitAndResetNotify(notify, stream, 0));
    std::atomic<pid_t> begun{0};
    std::thread waiter([&] {
      EXPECT_OK(aclrtSetDevice(0));
      begun = gettid();
      const aclError code = aclrtSynchronizeStream(stream);
      EXPECT_TRUE(code == 107023 || code == 0) << code;  // 0: it came too late to wait
    });
    while (begun == 0 || test::state_of(getpid(), begun) != 'S') std::this_thread::yield();
    EXPECT_OK(aclrtStreamAbort(stream));
    waiter.join();
  });
}

// What the process does to its own notify reaches a thread that listens for others.
TEST(NotifyWakes, AThreadIsToldByItsOwnProcess) {
  run({}, [] {
    const Device device;
    std::string key;
    aclrtNotify notify = make_notify(key);
    aclrtStream stream = make_stream();
    for (int turn = 0; turn < kTurns; ++turn) {
      EXPECT_OK(aclrtWaitAndResetNotify(notify, stream, 0));
      std::atomic<pid_t> begun{0};
      std::thread waiter([&] {
        EXPECT_OK(aclrtSetDevice(0));
        begun = gettid();
        EXPECT_OK(aclrtSynchronizeStream(stream));
      });
      // Every tenth time it sleeps in the call before; otherwise the two come as they come.
      while (turn % 10 == 0 && (begun == 0 || test::state_of(getpid(), begun) != 'S'))
        std::this_thread::yield();
      EXPECT_OK(aclrtRecordNotify(notify, nullptr));
      waiter.join();
    }
    EXPECT_OK(aclrtDestroyStream(stream));
    EXPECT_OK(aclrtDestroyNotify(notify));
  });
}

}  // namespace
}  // namespace plat::rule_test
