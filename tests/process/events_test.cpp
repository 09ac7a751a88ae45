// SPDX-License-Identifier: Apache-2.0
// Goal: the places of events between processes come back, whatever ends the process that had opened them.
// Method: all places there are, opened by a second process, which is killed or lives; then all of them again.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "acl/acl_rt_event.h"
#include "support/machine.h"
#include "support/peer.h"

namespace plat::test {
namespace {

constexpr size_t kPlaces = 1024;

std::vector<aclrtEvent> create_until_refused() {
  std::vector<aclrtEvent> events;
  aclrtEvent event = nullptr;
  while (events.size() <= kPlaces && aclrtCreateEventExWithFlag(&event, ACL_EVENT_IPC) == ACL_SUCCESS)
    events.push_back(event);
  return events;
}

void destroy(const std::vector<aclrtEvent>& events) {
  for (aclrtEvent event : events) EXPECT_EQ(aclrtDestroyEvent(event), ACL_SUCCESS);
}

// Opens as many events as it is told of, says so, and stays.
void importer(Channel& channel) {
  EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  for (uint64_t left = channel.receive(); left > 0; --left) {
    aclrtIpcEventHandle handle{};
    const uint64_t bits = channel.receive();
    std::memcpy(handle.reserved, &bits, sizeof bits);
    aclrtEvent event = nullptr;
    EXPECT_EQ(aclrtIpcOpenEventHandle(handle, &event), ACL_SUCCESS) << aclGetRecentErrMsg();
    // Twice: the first to be closed must not give the place away.
    aclrtEvent again = nullptr;
    EXPECT_EQ(aclrtIpcOpenEventHandle(handle, &again), ACL_SUCCESS) << aclGetRecentErrMsg();
    EXPECT_EQ(aclrtDestroyEvent(again), ACL_SUCCESS);
  }
  channel.send(1);
  channel.receive();
}

void open_all(Peer& peer, const std::vector<aclrtEvent>& events) {
  peer.channel().send(events.size());
  for (aclrtEvent event : events) {
    aclrtIpcEventHandle handle{};
    EXPECT_EQ(aclrtIpcGetEventHandle(event, &handle), ACL_SUCCESS);
    uint64_t bits = 0;
    std::memcpy(&bits, handle.reserved, sizeof bits);
    peer.channel().send(bits);
  }
  peer.channel().receive();
}

TEST(EventsBetweenProcesses, PlacesOfAKilledImporterComeBack) {
  in_child([] {
    const Machine machine;
    Peer first(importer);
    Peer second(importer);
    EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    for (Peer* peer : {&first, &second}) {
      const std::vector<aclrtEvent> events = create_until_refused();
      EXPECT_EQ(events.size(), kPlaces) << aclGetRecentErrMsg();
      open_all(*peer, events);
      destroy(events);
      EXPECT_TRUE(create_until_refused().empty()) << "somebody uses all of them";
      peer->kill_now();
    }
    const std::vector<aclrtEvent> events = create_until_refused();
    EXPECT_EQ(events.size(), kPlaces) << aclGetRecentErrMsg();
    destroy(events);
  });
}

TEST(EventsBetweenProcesses, PlacesOfAnImporterThatEndsComeBack) {
  in_child([] {
    const Machine machine;
    Peer peer(importer);
    EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    const std::vector<aclrtEvent> events = create_until_refused();
    open_all(peer, events);
    destroy(events);
    peer.channel().send(0);
    EXPECT_TRUE(peer.join());
    const std::vector<aclrtEvent> again = create_until_refused();
    EXPECT_EQ(again.size(), kPlaces) << aclGetRecentErrMsg();
    destroy(again);
  });
}

// Whoever holds one event of a process that has ended opens no other one of it, as nobody else does.
TEST(EventsBetweenProcesses, OfAnEndedProcessAreNotOpenedAgain) {
  in_child([] {
    const Machine machine;
    Peer exporter([](Channel& channel) {
      EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
      aclrtEvent event = nullptr;
      aclrtIpcEventHandle handle{};
      EXPECT_EQ(aclrtCreateEventExWithFlag(&event, ACL_EVENT_IPC), ACL_SUCCESS);
      EXPECT_EQ(aclrtIpcGetEventHandle(event, &handle), ACL_SUCCESS);
      uint64_t bits = 0;
      std::memcpy(&bits, handle.reserved, sizeof bits);
      channel.send(bits);
      channel.receive();
    });
    EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    const uint64_t bits = exporter.channel().receive();
    aclrtIpcEventHandle handle{};
    std::memcpy(handle.reserved, &bits, sizeof bits);
    aclrtEvent held = nullptr;
    aclrtEvent again = nullptr;
    EXPECT_EQ(aclrtIpcOpenEventHandle(handle, &held), ACL_SUCCESS) << aclGetRecentErrMsg();
    exporter.kill_now();
    EXPECT_NE(aclrtIpcOpenEventHandle(handle, &again), ACL_SUCCESS);
    EXPECT_EQ(aclrtDestroyEvent(held), ACL_SUCCESS);
  });
}

}  // namespace
}  // namespace plat::test
