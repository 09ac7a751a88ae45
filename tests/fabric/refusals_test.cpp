// SPDX-License-Identifier: Apache-2.0
// What is refused: strangers, handles of memory that is no more, memory that the machine does not have,
// nonsense.
#include <filesystem>
#include <string>

#include "fabric/between.h"

namespace plat::test {
namespace {

// Whoever has another authority's certificates, or none, is a stranger.
TEST(FabricRefusals, StrangersAreRefused) {
  in_child([] {
    Cluster cluster(1);
    Cluster others(2);
    // Server 1 of the others claims to be of the first.
    Peer peer([&](Channel& channel) { exporter(cluster, 0, channel); });
    const auto fabric = receive_handle(peer.channel());
    others.meet(1, 0, cluster.ports(0).front());
    others.kill_daemon(1);
    others.start(1);
    others.join(1);
    OK(aclrtSetDevice(0));
    aclrtMemFabricHandle wanted = fabric;
    aclrtDrvMemHandle none = nullptr;
    EXPECT_EQ(aclrtMemImportFromShareableHandleV2(&wanted, kFabric, 0, &none), 107017);
    EXPECT_TRUE(cites("FABRIC-Peer-trusted")) << recent();
    if (geteuid() == 0) {
      Peer stranger([&](Channel& channel) {
        ASSERT_EQ(setuid(65534), 0);
        channel.send(static_cast<bool>(os::connect_to(cluster.socket(0), 10000)));
      });
      EXPECT_EQ(stranger.channel().receive(), 0u);
    }
    peer.channel().send(0);
  });
}

aclError import_only(aclrtMemFabricHandle fabric) {
  aclrtDrvMemHandle handle = nullptr;
  const aclError code = aclrtMemImportFromShareableHandleV2(&fabric, kFabric, 0, &handle);
  return code == ACL_SUCCESS ? aclrtFreePhysical(handle) : code;
}

// A handle is of one life of the memory: not of the next block at its place, nor of a server that began anew.
TEST(FabricRefusals, StaleHandlesStayStale) {
  in_child([] {
    Cluster cluster;
    Peer importer([&](Channel& channel) {
      cluster.join(1);
      OK(aclrtSetDevice(0));
      while (channel.receive() != 0) {
        const aclError code = import_only(receive_handle(channel));
        channel.send(static_cast<uint64_t>(code));
      }
    });
    const auto import_there = [&](const aclrtMemFabricHandle& fabric) {
      importer.channel().send(1);
      send_handle(importer.channel(), fabric);
      return importer.channel().receive();
    };
    std::vector<aclrtMemFabricHandle> stale;
    for (int life = 0; life < 6; ++life) {
      Peer peer([&](Channel& channel) { exporter(cluster, 0, channel); });
      const auto fabric = receive_handle(peer.channel());
      for (const auto& old : stale) EXPECT_EQ(import_there(old), 107017u);
      EXPECT_EQ(import_there(fabric), 0u);
      // By will, by force, and with the whole server.
      if (life % 3 == 0) {
        peer.channel().send(0);
        EXPECT_TRUE(peer.join());
      } else {
        peer.kill_now();
      }
      if (life % 3 == 2) {
        cluster.kill_daemon(0);
        for (const char* file : {"dev0", "dev0.data", "dev1", "dev1.data", "host", "host.data"})
          std::filesystem::remove(cluster.directory() + "/s0-" + file);
        cluster.start(0);
      }
      stale.push_back(fabric);
      EXPECT_EQ(import_there(fabric), 107017u);
    }
    importer.channel().send(0);
    EXPECT_TRUE(importer.join());
  });
}

// Memory that was never written is taken when it is imported, or not given at all.
TEST(FabricRefusals, AFullMachineRefusesTheImport) {
  in_child([] {
    Cluster cluster(2, "64MiB", Cluster::Daemons::AreStartedLater);
    setenv("PLAT_KEEP_BACK", "1PiB", 1);
    cluster.start(0);
    unsetenv("PLAT_KEEP_BACK");
    cluster.start(1);
    Peer peer([&](Channel& channel) {
      cluster.join(0);
      OK(aclrtSetDevice(0));
      aclrtDrvMemHandle handle = allocate(8_MiB);
      aclrtMemFabricHandle fabric{};
      OK(aclrtMemExportToShareableHandleV2(handle, kEverybody, kFabric, &fabric));
      send_handle(channel, fabric);
      channel.receive();
      OK(aclrtFreePhysical(handle));
      channel.send(used_bytes());
    });
    cluster.join(1);
    OK(aclrtSetDevice(0));
    const auto fabric = receive_handle(peer.channel());
    for (int attempt = 0; attempt < 3; ++attempt) {
      EXPECT_EQ(import_only(fabric), 107017);
      EXPECT_TRUE(cites("FABRIC-Import-memory")) << recent();
    }
    peer.channel().send(0);
    EXPECT_EQ(peer.channel().receive(), 0u);  // nothing is held for who was refused
    EXPECT_TRUE(peer.join());
  });
}

// Whatever comes to the listeners, from programs and from the network, the daemon goes on.
TEST(FabricRefusals, GarbageIsSurvived) {
  in_child([] {
    between([](Cluster& cluster, Peer& peer, const aclrtMemFabricHandle& fabric) {
      const Mapped far = import_and_map(fabric);
      ASSERT_NE(far.va, nullptr);
      std::minstd_rand random(11);
      const auto some = [&](size_t size) {
        std::vector<uint8_t> bytes(size);
        for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
        return bytes;
      };
      // Requests of a program that lost its mind: a session of its own, then anything.
      for (int round = 0; round < 200; ++round) {
        const os::Fd socket = os::connect_to(cluster.socket(1), 10000);
        ASSERT_TRUE(socket);
        fabric::Request hello;
        hello.ask = fabric::Ask::Hello;
        if (round % 3 != 0) fabric::send(socket.get(), hello);
        for (int more = 0; more < 5; ++more) {
          fabric::Request request;
          const auto bytes = some(sizeof request);
          memcpy(static_cast<void*>(&request), bytes.data(), sizeof request);
          if (more % 2 == 0) request.version = fabric::kWireVersion;
          if (more % 2 == 0) request.ask = static_cast<fabric::Ask>(random() % 8);
          request.deadline_ms = 1;
          fabric::send(socket.get(), request);
        }
        const auto bytes = some(random() % 300);
        (void)::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      }
      // And of somebody on the network, at both ports.
      for (const uint16_t port : cluster.ports(0))
        for (int round = 0; round < 200; ++round) {
          const os::Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
          sockaddr_in address{};
          address.sin_family = AF_INET;
          address.sin_port = htons(port);
          address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
          ASSERT_EQ(connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
          const auto bytes = some(random() % 400);
          (void)::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
        }
      OK(read_some(far));
      EXPECT_TRUE(agrees(peer, 1));
    });
  });
}

}  // namespace
}  // namespace plat::test
