// SPDX-License-Identifier: Apache-2.0
// Events between processes: every rule broken and kept.
#include <cstring>
#include <thread>

#include "rules/stream_fixture.h"
#include "support/peer.h"

namespace plat::rule_test {
namespace {

using test::Channel;
using test::Peer;

// The handle of an event that aclrtIpcGetEventHandle gives, as a number.
uint64_t bits_of(aclrtEvent event) {
  aclrtIpcEventHandle handle{};
  EXPECT_OK(aclrtIpcGetEventHandle(event, &handle));
  uint64_t bits = 0;
  std::memcpy(&bits, handle.reserved, sizeof bits);
  for (size_t i = sizeof bits; i < sizeof handle; ++i) EXPECT_EQ(handle.reserved[i], 0);
  return bits;
}
// aclrtIpcOpenEventHandle of the handle of an event that is a number.
aclError open_event(uint64_t bits, aclrtEvent* event) {
  aclrtIpcEventHandle handle{};
  std::memcpy(handle.reserved, &bits, sizeof bits);
  return aclrtIpcOpenEventHandle(handle, event);
}

// Shows an event. Told 1 it holds its stream and records; told 2 it lets the stream go; told 0 it ends.
void event_owner(Channel& channel) {
  EXPECT_OK(aclrtSetDevice(0));
  aclrtEvent event = make_extended_event(ACL_EVENT_IPC);
  channel.send(bits_of(event));
  aclrtStream stream = make_stream();
  aclrtEvent signal = make_event(ACL_EVENT_SYNC);
  for (;;) {
    switch (channel.receive()) {
      case 0:
        EXPECT_OK(aclrtDestroyEvent(event));
        return;
      case 1:
        EXPECT_OK(aclrtStreamWaitEvent(stream, signal));
        EXPECT_OK(aclrtRecordEvent(event, stream));
        break;
      case 2:
        EXPECT_OK(aclrtRecordEvent(signal, nullptr));
        EXPECT_OK(aclrtSynchronizeEvent(event));
        EXPECT_OK(aclrtResetEvent(signal, nullptr));
        break;
      default:
        EXPECT_OK(aclrtDestroyEvent(event));
    }
    channel.send(1);
  }
}
// Tells the peer what to do, and waits until it is done.
void tell(Peer& peer, uint64_t what) {
  peer.channel().send(what);
  peer.channel().receive();
}
// What aclrtQueryEventStatus tells.
bool is_reached(aclrtEvent event) {
  aclrtEventRecordedStatus status = ACL_EVENT_RECORDED_STATUS_NOT_READY;
  EXPECT_OK(aclrtQueryEventStatus(event, &status));
  return status == ACL_EVENT_RECORDED_STATUS_COMPLETE;
}

RULE_BROKEN(EventNumberless) {
  Device device;
  uint32_t number = 0;
  EXPECT_BREAKS(aclrtGetEventId(make_extended_event(ACL_EVENT_IPC), &number));
}
RULE_KEPT(EventNumberless) {
  Device device;
  uint32_t number = 0;
  EXPECT_OK(aclrtGetEventId(make_extended_event(ACL_EVENT_SYNC), &number));
}

RULE_BROKEN(EventNotShared) {
  Peer peer(event_owner);
  const uint64_t bits = peer.channel().receive();
  Device device;
  aclrtIpcEventHandle handle{};
  EXPECT_BREAKS(aclrtIpcGetEventHandle(make_event(), &handle));
  EXPECT_BREAKS(aclrtIpcGetEventHandle(make_extended_event(ACL_EVENT_SYNC), &handle));
  aclrtEvent event = nullptr;
  EXPECT_OK(open_event(bits, &event));
  EXPECT_BREAKS(aclrtIpcGetEventHandle(event, &handle));
  EXPECT_EQ(aclrtIpcGetEventHandle(nullptr, nullptr), 100000);
  EXPECT_EQ(aclrtIpcGetEventHandle(nullptr, &handle), 100000);
  EXPECT_EQ(aclrtIpcGetEventHandle(&handle, &handle), 107017);
  peer.channel().send(0);
  EXPECT_TRUE(peer.join());
}
RULE_KEPT(EventNotShared) {
  Device device;
  aclrtEvent event = make_extended_event(ACL_EVENT_IPC);
  EXPECT_EQ(bits_of(event), bits_of(event));
  // At home it is an event like any other.
  EXPECT_TRUE(is_reached(event));
  EXPECT_OK(aclrtRecordEvent(event, nullptr));
  EXPECT_OK(aclrtStreamWaitEvent(make_stream(), event));
  EXPECT_OK(aclrtSynchronizeEvent(event));
  EXPECT_OK(aclrtDestroyEvent(event));
}

RULE_BROKEN(EventShareLimit) {
  Device device;
  for (int i = 0; i < 1024; ++i) make_extended_event(ACL_EVENT_IPC);
  aclrtEvent event = nullptr;
  EXPECT_BREAKS(aclrtCreateEventExWithFlag(&event, ACL_EVENT_IPC));
}
RULE_KEPT(EventShareLimit) {
  Device device;
  for (int i = 0; i < 3000; ++i) EXPECT_OK(aclrtDestroyEvent(make_extended_event(ACL_EVENT_IPC)));
}

RULE_BROKEN(EventKey) {
  Peer peer(event_owner);
  const uint64_t bits = peer.channel().receive();
  aclrtEvent event = nullptr;
  EXPECT_EQ(open_event(bits, &event), 107002);
  EXPECT_EQ(open_event(bits, nullptr), 100000);
  Device device;
  EXPECT_BREAKS(open_event(0, &event));
  EXPECT_BREAKS(open_event(bits + 1, &event));
  EXPECT_BREAKS(open_event(bits + (uint64_t{5} << 32), &event));
  EXPECT_BREAKS(open_event(~uint64_t{0}, &event));
  // The owner of the event is killed while somebody waits: streams and host threads are told.
  EXPECT_OK(open_event(bits, &event));
  tell(peer, 1);
  aclrtStream stream = make_stream();
  EXPECT_OK(aclrtStreamWaitEvent(stream, event));
  EXPECT_FALSE(is_reached(event));
  peer.kill_now();
  EXPECT_BREAKS(aclrtSynchronizeStream(stream));
  EXPECT_BREAKS(aclrtSynchronizeEvent(event));
  EXPECT_OK(aclrtDestroyEvent(event));
  EXPECT_BREAKS(open_event(bits, &event));
}
// What is recorded there is waited for here, by streams and by the host; what is not recorded is waited for
// by none.
RULE_KEPT(EventKey) {
  Peer peer(event_owner);
  const uint64_t bits = peer.channel().receive();
  Device device;
  aclrtEvent event = nullptr;
  EXPECT_OK(open_event(bits, &event));
  EXPECT_TRUE(is_reached(event));
  EXPECT_OK(aclrtSynchronizeEvent(event));
  aclrtStream stream = make_stream();
  EXPECT_OK(aclrtStreamWaitEvent(stream, event));
  EXPECT_OK(aclrtSynchronizeStream(stream));

  for (int round = 0; round < 3; ++round) {
    tell(peer, 1);
    EXPECT_FALSE(is_reached(event));
    EXPECT_OK(aclrtStreamWaitEvent(stream, event));
    EXPECT_EQ(aclrtSynchronizeEventWithTimeout(event, 5), 507047);
    EXPECT_EQ(aclrtSynchronizeStreamWithTimeout(stream, 5), 507046);
    peer.channel().send(2);
    EXPECT_OK(aclrtSynchronizeEvent(event));
    EXPECT_OK(aclrtSynchronizeStream(stream));
    EXPECT_TRUE(is_reached(event));
    peer.channel().receive();
  }
  float ms = 0;
  EXPECT_EQ(aclrtEventElapsedTime(&ms, event, event), 107006);
  peer.channel().send(0);
  EXPECT_TRUE(peer.join());
  EXPECT_OK(aclrtDestroyEvent(event));
  EXPECT_EQ(aclrtDestroyEvent(event), 107017);
}

RULE_BROKEN(EventKeySelf) {
  Device device;
  aclrtEvent event = make_extended_event(ACL_EVENT_IPC), again = nullptr;
  EXPECT_BREAKS(open_event(bits_of(event), &again));
}
RULE_KEPT(EventKeySelf) {
  Peer peer(event_owner);
  const uint64_t bits = peer.channel().receive();
  Device device;
  aclrtEvent one = nullptr, other = nullptr;
  EXPECT_OK(open_event(bits, &one));
  EXPECT_OK(open_event(bits, &other));
  peer.channel().send(0);
  EXPECT_TRUE(peer.join());
}

RULE_BROKEN(EventImported) {
  Peer peer(event_owner);
  const uint64_t bits = peer.channel().receive();
  Device device;
  aclrtEvent event = nullptr;
  EXPECT_OK(open_event(bits, &event));
  EXPECT_BREAKS(aclrtRecordEvent(event, nullptr));
  EXPECT_EQ(aclrtResetEvent(event, nullptr), 207000);
  peer.channel().send(0);
  EXPECT_TRUE(peer.join());
}
RULE_KEPT(EventImported) {
  Device device;
  EXPECT_OK(aclrtRecordEvent(make_extended_event(ACL_EVENT_IPC), nullptr));
}

}  // namespace
}  // namespace plat::rule_test
