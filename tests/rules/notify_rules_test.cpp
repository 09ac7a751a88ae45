// SPDX-License-Identifier: Apache-2.0
// Notifies: every rule broken and kept. Across processes too: one waits for what the other records.
#include <cstring>
#include <functional>

#include "rules/stream_fixture.h"
#include "support/peer.h"

namespace plat::rule_test {
namespace {

using test::Channel;
using test::Peer;

// The flag that lets every process import.
constexpr uint64_t kEveryWaiter = ACL_RT_NOTIFY_EXPORT_FLAG_DISABLE_PID_VALIDATION;
// A key has 64 characters, and ends with a zero.
constexpr size_t kNotifyKeyBytes = 65;
#define ON_950 \
  { "PLAT_PRODUCT", "950" }

// What aclrtCreateNotify gives.
aclrtNotify make_notify(uint64_t flag = 0) {
  aclrtNotify notify = nullptr;
  EXPECT_OK(aclrtCreateNotify(&notify, flag));
  return notify;
}
// What aclrtCntNotifyCreate gives.
aclrtCntNotify make_counter() {
  aclrtCntNotify notify = nullptr;
  EXPECT_OK(aclrtCntNotifyCreate(&notify, 0));
  return notify;
}
// What aclrtNotifyGetExportKey gives.
std::string key_of(aclrtNotify notify, uint64_t flags = kEveryWaiter) {
  char key[kNotifyKeyBytes] = {};
  EXPECT_OK(aclrtNotifyGetExportKey(notify, key, sizeof key, flags));
  EXPECT_EQ(strlen(key), 64u);
  return key;
}
// Exports a notify, sends its key, and lives until it hears something.
std::function<void(Channel&)> exporter(uint64_t flags) {
  return [=](Channel& channel) {
    EXPECT_OK(aclrtSetDevice(0));
    aclrtNotify notify = make_notify();
    channel.send_text(key_of(notify, flags));
    for (;;) {
      const uint64_t asked = channel.receive();
      if (asked == 0) return;
      auto pid = static_cast<int32_t>(asked);
      EXPECT_OK(aclrtNotifySetImportPid(notify, &pid, 1));
      channel.send(1);
    }
  };
}

RULE_BROKEN(NotifyHandle) {
  Device device;
  aclrtNotify notify = make_notify();
  EXPECT_OK(aclrtDestroyNotify(notify));
  uint32_t number = 0;
  char key[kNotifyKeyBytes];
  int32_t pid = 1;
  EXPECT_BREAKS(aclrtDestroyNotify(notify));
  EXPECT_BREAKS(aclrtRecordNotify(notify, nullptr));
  EXPECT_BREAKS(aclrtWaitAndResetNotify(notify, nullptr, 0));
  EXPECT_BREAKS(aclrtGetNotifyId(notify, &number));
  EXPECT_BREAKS(aclrtNotifyGetExportKey(notify, key, 0, 9));
  EXPECT_BREAKS(aclrtNotifySetImportPid(notify, &pid, 0));
  aclrtNotify list[] = {make_notify(), notify, make_notify()};
  EXPECT_BREAKS(aclrtNotifyBatchReset(list, 3));
  EXPECT_BREAKS(aclrtRecordNotify(make_stream(), nullptr));
  EXPECT_BREAKS(aclrtRecordNotify(&notify, nullptr));
  EXPECT_EQ(aclrtRecordNotify(nullptr, nullptr), 100000);
  EXPECT_EQ(aclrtRecordNotify(list[0], notify), 107017);  // no stream
  // A stream that waits for a notify which goes is told.
  aclrtStream stream = make_stream();
  EXPECT_OK(aclrtWaitAndResetNotify(list[0], stream, 0));
  EXPECT_OK(aclrtDestroyNotify(list[0]));
  EXPECT_BREAKS(aclrtSynchronizeStream(stream));
}
// A record sets it, whoever comes first; one wait takes it.
RULE_KEPT(NotifyHandle) {
  Device device;
  aclrtNotify notify = make_notify();
  aclrtStream one = make_stream(), other = make_stream();
  EXPECT_OK(aclrtRecordNotify(notify, one));
  EXPECT_OK(aclrtWaitAndResetNotify(notify, other, 0));
  EXPECT_OK(aclrtSynchronizeStream(other));

  EXPECT_OK(aclrtRecordNotify(notify, one));
  EXPECT_OK(aclrtRecordNotify(notify, one));  // set already
  EXPECT_OK(aclrtWaitAndResetNotify(notify, other, 0));
  EXPECT_OK(aclrtSynchronizeStream(other));
  EXPECT_OK(aclrtWaitAndResetNotify(notify, other, 0));
  EXPECT_OK(aclrtWaitAndResetNotify(notify, one, 0));
  EXPECT_FALSE(is_done(other));
  EXPECT_FALSE(is_done(one));
  for (int i = 0; i < 2; ++i) {
    EXPECT_OK(aclrtRecordNotify(notify, nullptr));
    EXPECT_OK(aclrtSynchronizeStream(nullptr));
    while (!is_done(one) && !is_done(other)) {
    }
  }
  EXPECT_OK(aclrtSynchronizeDevice());
  // Taken back before anybody comes.
  EXPECT_OK(aclrtRecordNotify(notify, nullptr));
  EXPECT_OK(aclrtSynchronizeStream(nullptr));
  EXPECT_OK(aclrtNotifyBatchReset(&notify, 1));
  EXPECT_OK(aclrtWaitAndResetNotify(notify, one, 0));
  EXPECT_FALSE(is_done(one));
  EXPECT_OK(aclrtStreamAbort(one));
  uint32_t first = 0, second = 0;
  EXPECT_OK(aclrtGetNotifyId(notify, &first));
  EXPECT_OK(aclrtGetNotifyId(make_notify(), &second));
  EXPECT_NE(first, second);
  EXPECT_OK(aclrtDestroyNotify(notify));
}

RULE_BROKEN(NotifyFlags) {
  aclrtNotify notify = nullptr;
  EXPECT_BREAKS(aclrtCreateNotify(&notify, 2));  // before the device is looked at
  EXPECT_BREAKS(aclrtNotifyImportByKey(&notify, "x", 4));
  EXPECT_EQ(aclrtCreateNotify(nullptr, 2), 100000);
  EXPECT_EQ(aclrtCreateNotify(&notify, 0), 107002);
  EXPECT_EQ(aclrtNotifyImportByKey(&notify, "x", uint64_t{1} << 32),
            107002);  // the upper half is not looked at
  Device device;
  char key[kNotifyKeyBytes];
  EXPECT_BREAKS(aclrtNotifyGetExportKey(make_notify(), key, sizeof key, 1));
}
RULE_KEPT(NotifyFlags) {
  Device device;
  make_notify(ACL_NOTIFY_DEVICE_USE_ONLY);
  key_of(make_notify(), ACL_RT_NOTIFY_EXPORT_FLAG_DEFAULT);
  key_of(make_notify(), kEveryWaiter);
}

RULE_BROKEN(NotifyLimit, {"PLAT_PRODUCT", "inference"}) {
  Device device;
  for (int i = 0; i < 1024; ++i) make_notify();
  aclrtNotify notify = nullptr;
  EXPECT_BREAKS(aclrtCreateNotify(&notify, 0));
  EXPECT_OK(aclrtSetDevice(1));
  make_notify();  // another device has its own
}
RULE_KEPT(NotifyLimit) {
  Device device;
  for (int i = 0; i < 10000; ++i) {  // shown to others and gone again: places come back
    aclrtNotify notify = make_notify();
    char key[kNotifyKeyBytes];
    EXPECT_OK(aclrtNotifyGetExportKey(notify, key, sizeof key, 0));
    EXPECT_OK(aclrtDestroyNotify(notify));
  }
  for (int i = 0; i < 8192; ++i) make_notify();
}

RULE_BROKEN(NotifyDeviceOnly) {
  Device device;
  aclrtNotify notify = make_notify(ACL_NOTIFY_DEVICE_USE_ONLY);
  EXPECT_BREAKS(aclrtRecordNotify(notify, nullptr));
  EXPECT_BREAKS(aclrtWaitAndResetNotify(notify, nullptr, 0));
}
RULE_KEPT(NotifyDeviceOnly) {
  Device device;
  aclrtNotify notify = make_notify(ACL_NOTIFY_DEFAULT);
  EXPECT_OK(aclrtRecordNotify(notify, nullptr));
  EXPECT_OK(aclrtWaitAndResetNotify(notify, nullptr, 0));
  EXPECT_OK(aclrtSynchronizeStream(nullptr));

  uint32_t number = 0;  // one for the device alone has a number, for its kernels
  EXPECT_OK(aclrtGetNotifyId(make_notify(ACL_NOTIFY_DEVICE_USE_ONLY), &number));
}

RULE_BROKEN(NotifyWaitHere) {
  Peer peer(exporter(kEveryWaiter));
  const std::string key = peer.channel().receive_text();
  Device device;
  aclrtNotify imported = nullptr;
  EXPECT_OK(aclrtNotifyImportByKey(&imported, key.c_str(), 0));
  EXPECT_BREAKS(aclrtWaitAndResetNotify(imported, nullptr, 0));
  aclrtNotify own = make_notify();
  EXPECT_OK(aclrtSetDevice(1));
  EXPECT_BREAKS(aclrtWaitAndResetNotify(own, nullptr, 0));
  peer.channel().send(0);
  EXPECT_TRUE(peer.join());
}
RULE_KEPT(NotifyWaitHere) {
  Device device;
  aclrtNotify own = make_notify();
  EXPECT_OK(aclrtSetDevice(1));
  EXPECT_OK(aclrtRecordNotify(own, nullptr));  // another device may record it
  EXPECT_OK(aclrtSynchronizeStream(nullptr));
  EXPECT_OK(aclrtSetDevice(0));
  EXPECT_OK(aclrtWaitAndResetNotify(own, nullptr, 0));
  EXPECT_OK(aclrtSynchronizeStream(nullptr));
}

RULE_BROKEN(NotifyWaitTimeout) {
  Device device;
  EXPECT_OK(aclrtWaitAndResetNotify(make_notify(), nullptr, 1));
  EXPECT_BREAKS(aclrtSynchronizeStream(nullptr));

  EXPECT_OK(aclrtSetOpWaitTimeout(1));
  EXPECT_OK(aclrtWaitAndResetNotify(make_notify(), nullptr, UINT32_MAX));
  EXPECT_BREAKS(aclrtSynchronizeStream(nullptr));
}
RULE_KEPT(NotifyWaitTimeout) {
  Device device;
  aclrtNotify notify = make_notify();
  aclrtStream stream = make_stream();
  EXPECT_OK(aclrtWaitAndResetNotify(notify, stream, 3600));
  EXPECT_OK(aclrtRecordNotify(notify, nullptr));
  EXPECT_OK(aclrtSynchronizeStream(stream));
  EXPECT_OK(aclrtWaitAndResetNotify(notify, stream, UINT32_MAX));
  EXPECT_FALSE(is_done(stream));
  EXPECT_OK(aclrtStreamAbort(stream));
}

RULE_BROKEN(NotifyCount) {
  Device device;
  aclrtNotify notify = make_notify();
  int32_t pid = 1;
  EXPECT_BREAKS(aclrtNotifyBatchReset(&notify, 0));
  EXPECT_BREAKS(aclrtNotifyBatchReset(&notify, size_t{1} << 32));
  EXPECT_BREAKS(aclrtNotifySetImportPid(notify, &pid, 0));
  EXPECT_BREAKS(aclrtNotifySetImportPid(notify, &pid, 0x80000000));
  aclrtServerPid server{0, &pid, 1};
  EXPECT_BREAKS(aclrtNotifySetImportPidInterServer(nullptr, &server, 1));
  EXPECT_BREAKS(aclrtNotifySetImportPidInterServer(notify, nullptr, 1));
  EXPECT_BREAKS(aclrtNotifySetImportPidInterServer(notify, &server, 0));
  EXPECT_EQ(aclrtNotifySetImportPidInterServer(notify, &server, 1), 207000);  // no pod
  server.num = 2;
  EXPECT_BREAKS(aclrtNotifySetImportPidInterServer(notify, &server, 1));
  server = {0, nullptr, 1};
  EXPECT_BREAKS(aclrtNotifySetImportPidInterServer(notify, &server, 1));
  EXPECT_EQ(aclrtNotifyBatchReset(nullptr, 0), 100000);
  EXPECT_EQ(aclrtNotifySetImportPid(notify, nullptr, 0), 100000);
}
RULE_KEPT(NotifyCount, {"PLAT_PRODUCT", "a3"}) {
  Device device;
  aclrtNotify shown = make_notify();
  key_of(shown, 0);
  int64_t sdid = 0;
  EXPECT_OK(aclrtGetDeviceInfo(0, ACL_DEV_ATTR_SUPER_POD_DEVICE_ID, &sdid));
  int32_t pid = 1;
  aclrtServerPid servers[] = {{static_cast<uint32_t>(sdid), &pid, 1}, {static_cast<uint32_t>(sdid), &pid, 1}};
  EXPECT_OK(aclrtNotifySetImportPidInterServer(shown, servers, 2));
  servers[1].sdid = 5U << 22;  // another server
  EXPECT_EQ(aclrtNotifySetImportPidInterServer(shown, servers, 2), 207000);
  aclrtNotify notifies[] = {make_notify(), make_notify()};
  EXPECT_OK(aclrtNotifyBatchReset(notifies, 2));
}

RULE_BROKEN(NotifyKeyRoom) {
  Device device;
  char key[kNotifyKeyBytes] = "as it was";
  EXPECT_BREAKS(aclrtNotifyGetExportKey(make_notify(), key, 64, 9));
  EXPECT_BREAKS(aclrtNotifyGetExportKey(make_notify(), key, 0, 0));
  EXPECT_STREQ(key, "as it was");
  EXPECT_EQ(aclrtNotifyGetExportKey(make_notify(), nullptr, 0, 0), 100000);
}
RULE_KEPT(NotifyKeyRoom) {
  Device device;
  aclrtNotify notify = make_notify();
  EXPECT_EQ(key_of(notify), key_of(notify));
  EXPECT_NE(key_of(notify), key_of(make_notify()));
}

RULE_BROKEN(NotifyKey) {
  Peer peer([](Channel& channel) {
    EXPECT_OK(aclrtSetDevice(0));
    aclrtNotify notify = make_notify();
    channel.send_text(key_of(notify));
    channel.receive();
    EXPECT_OK(aclrtDestroyNotify(notify));
    channel.send(1);
    channel.receive();
  });
  const std::string key = peer.channel().receive_text();
  Device device;
  aclrtNotify notify = nullptr;
  EXPECT_BREAKS(aclrtNotifyImportByKey(&notify, "", 0));
  EXPECT_BREAKS(aclrtNotifyImportByKey(&notify, key.substr(1).c_str(), 0));
  EXPECT_BREAKS(aclrtNotifyImportByKey(&notify, (key + "0").c_str(), 0));
  std::string other = key;
  other[10] = other[10] == '0' ? '1' : '0';
  EXPECT_BREAKS(aclrtNotifyImportByKey(&notify, other.c_str(), 0));
  other = key;
  other[30] = 'f';  // a place that nobody has
  EXPECT_BREAKS(aclrtNotifyImportByKey(&notify, other.c_str(), 0));
  peer.channel().send(1);
  peer.channel().receive();
  EXPECT_BREAKS(aclrtNotifyImportByKey(&notify, key.c_str(), 0));  // destroyed
  peer.channel().send(1);
  EXPECT_TRUE(peer.join());
  EXPECT_BREAKS(aclrtNotifyImportByKey(&notify, key.c_str(), 0));  // gone
  EXPECT_EQ(notify, nullptr);
}
// One waits, the other records; and the notify outlives its creator's handle where it was imported.
RULE_KEPT(NotifyKey) {
  Peer peer(exporter(kEveryWaiter));
  const std::string key = peer.channel().receive_text();
  Device device;
  aclrtNotify notify = nullptr;
  EXPECT_OK(aclrtNotifyImportByKey(&notify, key.c_str(), 0));
  EXPECT_OK(aclrtRecordNotify(notify, nullptr));
  EXPECT_OK(aclrtSynchronizeStream(nullptr));
  EXPECT_OK(aclrtDestroyNotify(notify));
}

// Each records a notify of the other, many times, and once more when its creator has destroyed it.
void play_ping_pong() {
  Peer peer([](Channel& channel) {
    EXPECT_OK(aclrtSetDevice(0));
    aclrtNotify ping = make_notify();
    channel.send_text(key_of(ping));
    const std::string key = channel.receive_text();
    aclrtNotify pong = nullptr;
    EXPECT_OK(aclrtNotifyImportByKey(&pong, key.c_str(), ACL_RT_NOTIFY_IMPORT_FLAG_ENABLE_PEER_ACCESS));
    for (int i = 0; i < 200; ++i) {
      EXPECT_OK(aclrtWaitAndResetNotify(ping, nullptr, 0));
      EXPECT_OK(aclrtRecordNotify(pong, nullptr));
    }
    EXPECT_OK(aclrtSynchronizeStream(nullptr));
    channel.send(1);
    channel.receive();
    EXPECT_OK(aclrtRecordNotify(pong, nullptr));  // its creator has destroyed it
    EXPECT_OK(aclrtSynchronizeStream(nullptr));
    EXPECT_OK(aclrtDestroyNotify(pong));
  });
  Device device;
  aclrtNotify pong = make_notify(), ping = nullptr;
  const std::string key = peer.channel().receive_text();
  peer.channel().send_text(key_of(pong));
  EXPECT_OK(aclrtNotifyImportByKey(&ping, key.c_str(), 0));
  for (int i = 0; i < 200; ++i) {
    EXPECT_OK(aclrtRecordNotify(ping, nullptr));
    EXPECT_OK(aclrtWaitAndResetNotify(pong, nullptr, 0));
    EXPECT_OK(aclrtSynchronizeStream(nullptr));
  }
  peer.channel().receive();
  EXPECT_OK(aclrtDestroyNotify(pong));
  peer.channel().send(1);
  EXPECT_TRUE(peer.join());
  EXPECT_OK(aclrtRecordNotify(ping, nullptr));  // nobody is there, and nobody minds
  EXPECT_OK(aclrtSynchronizeStream(nullptr));
  EXPECT_OK(aclrtDestroyNotify(ping));
}
TEST(Notify, GoesToAndFroBetweenProcesses) { run({}, play_ping_pong); }

RULE_BROKEN(NotifyKeyDenied) {
  Peer peer(exporter(0));
  const std::string key = peer.channel().receive_text();
  Device device;
  aclrtNotify notify = nullptr;
  EXPECT_BREAKS(aclrtNotifyImportByKey(&notify, key.c_str(), 0));
  peer.channel().send(1);  // another process
  peer.channel().receive();
  EXPECT_BREAKS(aclrtNotifyImportByKey(&notify, key.c_str(), 0));
  peer.channel().send(0);
  EXPECT_TRUE(peer.join());
}
RULE_KEPT(NotifyKeyDenied) {
  Peer peer(exporter(0));
  const std::string key = peer.channel().receive_text();
  Device device;
  int32_t pid = 0;
  EXPECT_OK(aclrtDeviceGetBareTgid(&pid));
  peer.channel().send(static_cast<uint64_t>(pid));
  peer.channel().receive();
  aclrtNotify notify = nullptr;
  EXPECT_OK(aclrtNotifyImportByKey(&notify, key.c_str(), 0));
  peer.channel().send(0);
  EXPECT_TRUE(peer.join());
}

RULE_BROKEN(NotifyKeySelf) {
  Device device;
  aclrtNotify notify = make_notify(), again = nullptr;
  EXPECT_BREAKS(aclrtNotifyImportByKey(&again, key_of(notify).c_str(), 0));
}
RULE_KEPT(NotifyKeySelf) {
  Peer peer(exporter(kEveryWaiter));
  const std::string key = peer.channel().receive_text();
  Device device;
  aclrtNotify one = nullptr, other = nullptr;
  EXPECT_OK(aclrtNotifyImportByKey(&one, key.c_str(), 0));
  EXPECT_OK(aclrtNotifyImportByKey(&other, key.c_str(), 0));
  EXPECT_NE(one, other);
  peer.channel().send(0);
  EXPECT_TRUE(peer.join());
}

RULE_BROKEN(NotifyShown) {
  Peer peer(exporter(kEveryWaiter));
  const std::string key = peer.channel().receive_text();
  Device device;
  int32_t pid = 1;
  EXPECT_BREAKS(aclrtNotifySetImportPid(make_notify(), &pid, 1));
  aclrtNotify imported = nullptr;
  EXPECT_OK(aclrtNotifyImportByKey(&imported, key.c_str(), 0));
  EXPECT_BREAKS(aclrtNotifySetImportPid(imported, &pid, 1));
  char again[kNotifyKeyBytes];
  EXPECT_BREAKS(aclrtNotifyGetExportKey(imported, again, sizeof again, 0));
  peer.channel().send(0);
  EXPECT_TRUE(peer.join());
}
RULE_KEPT(NotifyShown) {
  Device device;
  aclrtNotify notify = make_notify();
  key_of(notify, 0);
  int32_t pids[] = {1, 2, 3};
  EXPECT_OK(aclrtNotifySetImportPid(notify, pids, 3));
}

RULE_BROKEN(NotifyMode, ON_950) {
  Device device;
  aclrtCntNotify counter = make_counter();
  aclrtCntNotifyRecordInfo change{static_cast<aclrtCntNotifyRecordMode>(3), 1};
  EXPECT_BREAKS(aclrtCntNotifyRecord(counter, nullptr, &change));
  aclrtCntNotifyWaitInfo wish{static_cast<aclrtCntNotifyWaitMode>(5), 1, 0, 0, {}};
  EXPECT_BREAKS(aclrtCntNotifyWaitWithTimeout(counter, nullptr, &wish));
  EXPECT_EQ(aclrtCntNotifyRecord(counter, nullptr, nullptr), 100000);
  EXPECT_EQ(aclrtCntNotifyWaitWithTimeout(counter, nullptr, nullptr), 100000);
  // The two kinds are not each other.
  EXPECT_EQ(aclrtRecordNotify(counter, nullptr), 107017);
  EXPECT_EQ(aclrtCntNotifyReset(make_notify(), nullptr), 107017);
  EXPECT_EQ(aclrtCntNotifyCreate(&counter, 1), 107000);
}
RULE_KEPT(NotifyMode, ON_950) {
  Device device;
  aclrtCntNotify counter = make_counter();
  aclrtCntNotifyRecordInfo six{ACL_RT_CNT_NOTIFY_RECORD_SET_VALUE_MODE, 6};
  EXPECT_OK(aclrtCntNotifyRecord(counter, nullptr, &six));
  aclrtCntNotifyWaitInfo more{ACL_RT_CNT_NOTIFY_WAIT_BIGGER_MODE, 5, 0, 0, {}};
  EXPECT_OK(aclrtCntNotifyWaitWithTimeout(counter, nullptr, &more));
  EXPECT_OK(aclrtSynchronizeStream(nullptr));

  const auto change = [&](aclrtCntNotifyRecordMode mode, uint32_t value) {
    aclrtCntNotifyRecordInfo info{mode, value};
    EXPECT_OK(aclrtCntNotifyRecord(counter, nullptr, &info));
  };
  const auto passes = [&](aclrtCntNotifyWaitMode mode, uint32_t value, bool clear = false) {
    static aclrtStream stream = make_stream();
    EXPECT_OK(aclrtSynchronizeStream(nullptr));
    aclrtCntNotifyWaitInfo info{mode, value, 0, static_cast<uint8_t>(clear), {}};
    EXPECT_OK(aclrtCntNotifyWaitWithTimeout(counter, stream, &info));
    // What can pass does so without anybody else's help.
    const bool passed = aclrtSynchronizeStreamWithTimeout(stream, 20) == ACL_SUCCESS || is_done(stream);
    EXPECT_OK(aclrtStreamAbort(stream));
    return passed;
  };
  change(ACL_RT_CNT_NOTIFY_RECORD_SET_VALUE_MODE, 6);
  EXPECT_TRUE(passes(ACL_RT_CNT_NOTIFY_WAIT_LESS_MODE, 7));
  EXPECT_TRUE(passes(ACL_RT_CNT_NOTIFY_WAIT_EQUAL_MODE, 6));
  EXPECT_TRUE(passes(ACL_RT_CNT_NOTIFY_WAIT_BIGGER_MODE, 5));
  EXPECT_TRUE(passes(ACL_RT_CNT_NOTIFY_WAIT_BIGGER_OR_EQUAL_MODE, 6));
  EXPECT_TRUE(passes(ACL_RT_CNT_NOTIFY_WAIT_EQUAL_WITH_BITMASK_MODE, 4));
  EXPECT_FALSE(passes(ACL_RT_CNT_NOTIFY_WAIT_EQUAL_WITH_BITMASK_MODE, 5));
  EXPECT_FALSE(passes(ACL_RT_CNT_NOTIFY_WAIT_LESS_MODE, 6));
  change(ACL_RT_CNT_NOTIFY_RECORD_ADD_MODE, 3);
  EXPECT_TRUE(passes(ACL_RT_CNT_NOTIFY_WAIT_EQUAL_MODE, 9));
  change(ACL_RT_CNT_NOTIFY_RECORD_BIT_OR_MODE, 0x10);
  EXPECT_TRUE(passes(ACL_RT_CNT_NOTIFY_WAIT_EQUAL_MODE, 25));
  change(ACL_RT_CNT_NOTIFY_RECORD_BIT_AND_MODE, 0x18);
  EXPECT_TRUE(passes(ACL_RT_CNT_NOTIFY_WAIT_EQUAL_MODE, 24, true));
  EXPECT_TRUE(passes(ACL_RT_CNT_NOTIFY_WAIT_EQUAL_MODE, 0));
  change(ACL_RT_CNT_NOTIFY_RECORD_SET_VALUE_MODE, 1);
  EXPECT_OK(aclrtCntNotifyReset(counter, nullptr));
  EXPECT_TRUE(passes(ACL_RT_CNT_NOTIFY_WAIT_EQUAL_MODE, 0));
  uint32_t number = 0;
  EXPECT_OK(aclrtCntNotifyGetId(counter, &number));
  EXPECT_OK(aclrtCntNotifyDestroy(counter));
  EXPECT_EQ(aclrtCntNotifyDestroy(counter), 107017);
}

}  // namespace
}  // namespace plat::rule_test
