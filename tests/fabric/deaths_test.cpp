// SPDX-License-Identifier: Apache-2.0
// Everybody may die, or stop, at any moment: counts come back, nobody waits longer than the deadline, and
// memory of a life that ended is never somebody else's.
#include <string>
#include <thread>

#include "fabric/between.h"
#include "fabric/stop.h"

namespace plat::test {
namespace {

TEST(FabricDeaths, AKilledImporterGivesBackWhatItHeld) {
  in_child([] {
    Cluster cluster;
    Peer peer([&](Channel& channel) { exporter(cluster, 0, channel); });
    Peer killed([&](Channel& channel) { importer(cluster, channel); });
    Witness witness(cluster);
    send_handle(killed.channel(), receive_handle(peer.channel()));
    EXPECT_EQ(killed.channel().receive(), 1u);
    peer.channel().send(0);
    EXPECT_EQ(peer.channel().receive(), kBytes);
    EXPECT_EQ(witness.used(), kBytes);
    killed.kill_now();
    SOON(witness.used() == 0);
  });
}

TEST(FabricDeaths, AChildOfADeadImporterKeepsNothing) {
  in_child([] {
    Cluster cluster;
    Peer peer([&](Channel& channel) { exporter(cluster, 0, channel); });
    Peer forking([&](Channel& channel) {
      cluster.join(1);
      OK(aclrtSetDevice(0));
      const Mapped far = import_and_map(receive_handle(channel));
      const pid_t child = fork();
      if (child == 0) {
        EXPECT_NE(read_some(far), ACL_SUCCESS);  // the parent's
        pause();
        _exit(0);
      }
      channel.send(static_cast<uint64_t>(child));
      pause();
    });
    Witness witness(cluster);
    send_handle(forking.channel(), receive_handle(peer.channel()));
    const auto child = static_cast<pid_t>(forking.channel().receive());
    peer.channel().send(0);
    EXPECT_EQ(peer.channel().receive(), kBytes);
    forking.kill_now();
    SOON(witness.used() == 0);
    kill(child, SIGKILL);
  });
}

TEST(FabricDeaths, TheExportersDaemonDies) {
  in_child([] {
    between([](Cluster& cluster, Peer& peer, const aclrtMemFabricHandle& fabric) {
      const Mapped far = import_and_map(fabric);
      ASSERT_NE(far.va, nullptr);
      OK(read_some(far));
      cluster.kill_daemon(0);
      EXPECT_EQ(read_some(far), 507899);
      EXPECT_TRUE(cites("FABRIC-Copy-server-alive")) << recent();
      EXPECT_NE(recent().find("server 0"), std::string::npos) << recent();
      aclrtMemFabricHandle wanted = fabric;
      aclrtDrvMemHandle none = nullptr;
      EXPECT_EQ(aclrtMemImportFromShareableHandleV2(&wanted, kFabric, 0, &none), 107017);
      EXPECT_TRUE(cites("FABRIC-Peer-reachable")) << recent();
      aclrtStream stream = nullptr;
      OK(aclrtCreateStream(&stream));
      OK(aclrtMemsetAsync(far.va, 4096, 1, 4096, stream));
      EXPECT_EQ(aclrtSynchronizeStream(stream), 507899) << recent();
      // A new life of the daemon: the old import stays dead, a new one works.
      cluster.start(0);
      EXPECT_EQ(read_some(far), 507899);
      const Mapped again = import_and_map(fabric);
      ASSERT_NE(again.va, nullptr);
      OK(read_some(again));
      EXPECT_EQ(read_some(far), 507899);
      far.drop();
      EXPECT_TRUE(agrees(peer, 1));
    });
  });
}

TEST(FabricDeaths, TheOwnDaemonDies) {
  in_child([] {
    between([](Cluster& cluster, Peer& peer, const aclrtMemFabricHandle& fabric) {
      const Mapped far = import_and_map(fabric);
      ASSERT_NE(far.va, nullptr);
      OK(read_some(far));
      cluster.kill_daemon(1);
      EXPECT_EQ(read_some(far), 507899);
      EXPECT_TRUE(cites("FABRIC-Copy-daemon-alive")) << recent();
      aclrtMemFabricHandle wanted = fabric;
      aclrtDrvMemHandle none = nullptr;
      EXPECT_EQ(aclrtMemImportFromShareableHandleV2(&wanted, kFabric, 0, &none), 107017);
      EXPECT_TRUE(cites("FABRIC-Daemon-reachable")) << recent();
      cluster.start(1);
      EXPECT_EQ(read_some(far), 507899);
      const Mapped again = import_and_map(fabric);
      ASSERT_NE(again.va, nullptr);
      OK(read_some(again));
      far.drop();
      again.drop();
      peer.channel().send(0);
      EXPECT_EQ(peer.channel().receive(), 0u);
    });
  });
}

TEST(FabricDeaths, AStoppedDaemonIsWaitedForNoLongerThanTheDeadline) {
  in_child([] {
    setenv("PLAT_FABRIC_DEADLINE", "1000", 1);
    between([](Cluster& cluster, Peer&, const aclrtMemFabricHandle& fabric) {
      const Mapped far = import_and_map(fabric);
      ASSERT_NE(far.va, nullptr);
      OK(read_some(far));
      stop(cluster.daemon(0));
      EXPECT_EQ(read_some(far), 507899);
      EXPECT_TRUE(cites("FABRIC-Copy-deadline")) << recent();
      kill(cluster.daemon(0), SIGCONT);
      aclrtMemFabricHandle wanted = fabric;
      aclrtDrvMemHandle again = nullptr;
      SOON(aclrtMemImportFromShareableHandleV2(&wanted, kFabric, 0, &again) == ACL_SUCCESS);
      stop(cluster.daemon(1));
      EXPECT_EQ(read_some(far), 507899);
      EXPECT_EQ(aclrtMemImportFromShareableHandleV2(&wanted, kFabric, 0, &again), 107017);
      EXPECT_TRUE(cites("FABRIC-Import-deadline") || cites("FABRIC-Daemon-reachable")) << recent();
    });
  });
}

// Threads that import from a server that does not answer wait at the same time, not one after the other; nor
// do those that import from one that does. First the server is not known yet, then it is; at last the own
// daemon is the one that is silent.
TEST(FabricDeaths, ThreadsDoNotWaitForEachOther) {
  constexpr uint64_t kDeadlineMs = 2000;
  constexpr size_t kThreads = 8;  // in turn they would take 16 s
  in_child([] {
    setenv("PLAT_FABRIC_DEADLINE", "2000", 1);
    between([](Cluster& cluster, Peer&, const aclrtMemFabricHandle& fabric) {
      const auto all_wait = [&](const char* what) {
        std::vector<std::thread> threads;
        std::vector<uint64_t> waited_ms(kThreads);
        for (uint64_t& waited : waited_ms)
          threads.emplace_back([&] {
            EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
            aclrtMemFabricHandle wanted = fabric;
            aclrtDrvMemHandle handle = nullptr;
            const uint64_t begin = os::monotonic_nanoseconds();
            EXPECT_EQ(aclrtMemImportFromShareableHandleV2(&wanted, kFabric, 0, &handle), 107017) << what;
            waited = (os::monotonic_nanoseconds() - begin) / 1000000;
            EXPECT_TRUE(recent().starts_with("FABRIC-")) << what << ": " << recent();
          });
        for (auto& thread : threads) thread.join();
        for (const uint64_t waited : waited_ms) EXPECT_LT(waited, 4 * kDeadlineMs) << what;
      };
      stop(cluster.daemon(0));
      all_wait("before the two have met");
      kill(cluster.daemon(0), SIGCONT);
      aclrtMemFabricHandle wanted = fabric;
      aclrtDrvMemHandle handle = nullptr;
      SOON(aclrtMemImportFromShareableHandleV2(&wanted, kFabric, 0, &handle) == ACL_SUCCESS);
      stop(cluster.daemon(0));
      all_wait("after they have met");
      kill(cluster.daemon(0), SIGCONT);
      stop(cluster.daemon(1));
      all_wait("with an own daemon that is silent");
      kill(cluster.daemon(1), SIGCONT);
      SOON(aclrtMemImportFromShareableHandleV2(&wanted, kFabric, 0, &handle) == ACL_SUCCESS);
    });
  });
}

// For some seconds importers and daemons are killed and stopped at random; afterwards nothing is held, and
// the memory is whole.
TEST(FabricDeaths, AtRandomMoments) {
  in_child([] {
    setenv("PLAT_FABRIC_DEADLINE", "2000", 1);
    Cluster cluster;
    Peer peer([&](Channel& channel) { exporter(cluster, 0, channel); });
    Witness witness(cluster);
    const auto fabric = receive_handle(peer.channel());
    std::mt19937 random(os::random_number());
    const uint64_t end = os::monotonic_nanoseconds() + uint64_t{8} * 1000000000;
    int rounds = 0;
    while (os::monotonic_nanoseconds() < end) {
      Peer victim([&](Channel& channel) { importer(cluster, channel); });
      send_handle(victim.channel(), fabric);
      EXPECT_EQ(victim.channel().receive(), 1u) << "round " << rounds;
      os::sleep_microseconds(random() % 20000);
      switch (random() % 4) {
        case 0:
          cluster.kill_daemon(1);
          victim.kill_now();
          cluster.start(1);
          break;
        case 1:
          cluster.kill_daemon(0);
          victim.kill_now();
          cluster.start(0);
          break;
        case 2:
          kill(cluster.daemon(0), SIGSTOP);
          victim.kill_now();
          os::sleep_microseconds(random() % 20000);
          kill(cluster.daemon(0), SIGCONT);
          break;
        default:
          victim.kill_now();
      }
      ++rounds;
    }
    EXPECT_GT(rounds, 1);
    peer.channel().send(0);
    (void)peer.channel().receive();
    EXPECT_TRUE(peer.join());
    SOON(witness.used() == 0);
  });
}

}  // namespace
}  // namespace plat::test
