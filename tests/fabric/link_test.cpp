// SPDX-License-Identifier: Apache-2.0
// Two servers in network namespaces of their own, and the wire between them is cut: unlike a process that was
// killed, nobody says goodbye.
#include "fabric/between.h"
#include "fabric/two_networks.h"

namespace plat::test {
namespace {

class FabricLink : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = Wire::why_not(); !why.empty()) GTEST_SKIP() << why;
  }

  // Server 0, which exports, is at the far end of the wire.
  static void over_wire(const std::function<void(Wire&, Cluster&)>& body) {
    in_child([&] {
      setenv("PLAT_FABRIC_DEADLINE", "2000", 1);
      Wire wire;
      ASSERT_EQ(wire.problem(), "");
      Cluster cluster(2, "256MiB", Cluster::Daemons::AreStartedLater);
      for (uint32_t server = 0; server < 2; ++server)
        for (uint32_t other = 0; other < 2; ++other) cluster.route(server, other, Wire::host(other == 0));
      for (uint32_t server = 0; server < 2; ++server) cluster.start(server, wire.network(server == 0));
      body(wire, cluster);
      EXPECT_EQ(wire.problem(), "");
    });
  }
};

aclError write_all(const Mapped& far, uint32_t seed) {
  const auto bytes = noise(kBytes, seed);
  return aclrtMemcpy(far.va, kBytes, bytes.data(), kBytes, ACL_MEMCPY_HOST_TO_DEVICE);
}

aclError import(aclrtMemFabricHandle fabric, aclrtDrvMemHandle* handle) {
  return aclrtMemImportFromShareableHandleV2(&fabric, kFabric, 0, handle);
}

TEST_F(FabricLink, WhatWasImportedBeforeTheCutStaysDeadAfterIt) {
  over_wire([](Wire& wire, Cluster& cluster) {
    Peer peer([&](Channel& channel) { exporter(cluster, 0, channel); });
    const auto fabric = receive_handle(peer.channel());
    cluster.join(1);
    OK(aclrtSetDevice(0));
    const Mapped far = import_and_map(fabric);
    ASSERT_NE(far.va, nullptr);
    OK(write_all(far, 2));
    EXPECT_TRUE(agrees(peer, 2));
    aclrtStream stream = nullptr;
    OK(aclrtCreateStream(&stream));

    wire.down();
    EXPECT_EQ(write_all(far, 3), 507899);
    EXPECT_TRUE(cites("FABRIC-Copy-deadline") || cites("FABRIC-Copy-server-alive")) << recent();
    EXPECT_NE(recent().find(fmt::format("server 0 ({}", Wire::host(1))), std::string::npos) << recent();
    OK(aclrtMemsetAsync(far.va, kBytes, 1, kBytes, stream));
    EXPECT_EQ(aclrtSynchronizeStream(stream), 507899) << recent();
    aclrtDrvMemHandle handle = nullptr;
    EXPECT_EQ(import(fabric, &handle), 107017);
    EXPECT_TRUE(cites("FABRIC-Import-deadline") || cites("FABRIC-Peer-reachable")) << recent();

    wire.up();
    SOON(import(fabric, &handle) == ACL_SUCCESS);
    const Mapped again = map_handle(handle, kBytes);
    EXPECT_EQ(write_all(far, 4), 507899);
    EXPECT_TRUE(cites("FABRIC-Copy-server-alive")) << recent();
    OK(write_all(again, 5));
    EXPECT_EQ(write_all(far, 6), 507899);
    EXPECT_TRUE(agrees(peer, 5));
    far.drop();
    again.drop();
    peer.channel().send(0);
    EXPECT_EQ(peer.channel().receive(), 0u);
  });
}

TEST_F(FabricLink, CountsComeBackWhenTheOtherServerIsCutOff) {
  over_wire([](Wire& wire, Cluster& cluster) {
    Peer peer([&](Channel& channel) { exporter(cluster, 0, channel); });
    Witness witness(cluster);
    const auto fabric = receive_handle(peer.channel());
    cluster.join(1);
    OK(aclrtSetDevice(0));
    const Mapped far = import_and_map(fabric);
    ASSERT_NE(far.va, nullptr);
    OK(write_all(far, 2));
    peer.channel().send(0);
    EXPECT_EQ(peer.channel().receive(), kBytes);  // this server alone keeps it
    EXPECT_TRUE(peer.join());
    wire.down();
    SOON(witness.used() == 0);
    wire.up();
    EXPECT_EQ(write_all(far, 3), 507899);
    far.drop();
  });
}

}  // namespace
}  // namespace plat::test
