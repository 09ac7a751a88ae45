// SPDX-License-Identifier: Apache-2.0
// Where PLAT_FABRIC is set, the first program that needs the daemon of its server starts it.
#include "fabric/start.h"

#include <sys/stat.h>

#include <atomic>
#include <fstream>
#include <list>
#include <set>

#include "fabric/between.h"

namespace plat::test {
namespace {

constexpr auto kLater = Cluster::Daemons::AreStartedLater;

// The same as exporter(), where nobody has started the daemon.
void exporter_that_starts(const Cluster& cluster, Channel& channel) {
  cluster.configure(0);
  exporter(cluster, 0, channel);
}

aclError import(aclrtMemFabricHandle fabric, aclrtDrvMemHandle* handle) {
  return aclrtMemImportFromShareableHandleV2(&fabric, kFabric, 0, handle);
}

int32_t parent_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  int32_t parent = 0;
  sscanf(text.c_str() + text.rfind(')'), ") %*c %d", &parent);
  return parent;
}

std::atomic<int> g_told{0};

TEST(FabricStart, TheFirstExportAndTheFirstImportStartIt) {
  in_child([] {
    const Cluster cluster(2, "64MiB", kLater);
    Peer peer([&](Channel& channel) { exporter_that_starts(cluster, channel); });
    const auto fabric = receive_handle(peer.channel());
    const pid_t first = cluster.running(0);
    EXPECT_GT(first, 0);
    EXPECT_EQ(cluster.running(1), 0);
    cluster.join(1);
    cluster.configure(1);
    OK(aclrtSetDevice(0));
    // A program that waits for children of its own hears nothing of the daemon.
    signal(SIGCHLD, [](int) { ++g_told; });
    const Mapped far = import_and_map(fabric);
    ASSERT_NE(far.va, nullptr);
    EXPECT_EQ(g_told, 0);
    const pid_t second = cluster.running(1);
    EXPECT_GT(second, 0);
    EXPECT_NE(parent_of(second), getpid());
    EXPECT_EQ(cluster.running(0), first);
    // It goes on for others when its starter is gone, and comes back when it was killed.
    const auto bytes = noise(kBytes, 2);
    OK(aclrtMemcpy(far.va, kBytes, bytes.data(), kBytes, ACL_MEMCPY_HOST_TO_DEVICE));
    EXPECT_TRUE(agrees(peer, 2));
    kill(second, SIGKILL);
    SOON(cluster.running(1) == 0);
    EXPECT_EQ(aclrtMemset(far.va, kBytes, 1, kBytes), 507899);
    const Mapped again = import_and_map(fabric);
    ASSERT_NE(again.va, nullptr);
    EXPECT_NE(cluster.running(1), second);
    far.drop();
    again.drop();
    peer.channel().send(0);
    EXPECT_EQ(peer.channel().receive(), 0u);
    EXPECT_TRUE(peer.join());
    EXPECT_EQ(cluster.running(0), first);
  });
}

TEST(FabricStart, ManyAtOnceStartOne) {
  in_child([] {
    const Cluster cluster(1, "64MiB", kLater);
    std::list<Peer> peers;
    for (int i = 0; i < 6; ++i)
      peers.emplace_back([&](Channel& channel) {
        cluster.configure(0);
        cluster.join(0);
        channel.receive();
        OK(aclrtSetDevice(0));
        aclrtMemFabricHandle fabric{};
        OK(aclrtMemExportToShareableHandleV2(allocate(2_MiB), kEverybody, kFabric, &fabric));
        channel.send(static_cast<uint64_t>(cluster.running(0)));
      });
    for (Peer& peer : peers) peer.channel().send(1);
    std::set<uint64_t> pids;
    for (Peer& peer : peers) pids.insert(peer.channel().receive());
    EXPECT_EQ(pids.size(), 1u);
    EXPECT_NE(*pids.begin(), 0u);
    for (Peer& peer : peers) EXPECT_TRUE(peer.join());
  });
}

TEST(FabricStart, WithoutATableNothingIsStarted) {
  in_child([] {
    const Cluster cluster(2, "64MiB", kLater);
    Peer peer([&](Channel& channel) { exporter(cluster, 0, channel, 2_MiB); });
    const auto fabric = receive_handle(peer.channel());
    EXPECT_EQ(cluster.running(0), 0);
    cluster.join(1);
    OK(aclrtSetDevice(0));
    aclrtDrvMemHandle handle = nullptr;
    EXPECT_EQ(import(fabric, &handle), 107017);
    EXPECT_EQ(std::string(aclGetRecentErrMsg()).find("FABRIC-Daemon-reachable"), 0u);
    EXPECT_EQ(cluster.running(1), 0);
    peer.channel().send(0);
  });
}

// What keeps the daemon from starting is told to whoever needs it, in the daemon's own words.
TEST(FabricStart, ADaemonThatCannotStartSaysWhy) {
  in_child([] {
    const Cluster cluster(2, "64MiB", kLater);
    Peer peer([&](Channel& channel) {
      std::ofstream(cluster.table(0)) << "7 127.0.0.1:7100\n";
      exporter_that_starts(cluster, channel);  // works all the same: it can be imported at home
    });
    const auto fabric = receive_handle(peer.channel());
    EXPECT_EQ(cluster.running(0), 0);
    peer.channel().send(0);
    std::ofstream(cluster.table(1)) << "0 here\n";
    cluster.join(1);
    cluster.configure(1);
    OK(aclrtSetDevice(0));
    aclrtDrvMemHandle handle = nullptr;
    for (int attempt = 0; attempt < 2; ++attempt) {
      EXPECT_EQ(import(fabric, &handle), 107017);
      const std::string said = aclGetRecentErrMsg();
      EXPECT_EQ(said.find("FABRIC-Daemon-reachable"), 0u) << said;
      EXPECT_NE(said.find("'0 here' is not 'SERVER HOST:PORT'"), std::string::npos) << said;
    }
    EXPECT_TRUE(peer.join());
  });
}

// A rule that it breaks is the one that is cited, not that it is not there.
TEST(FabricStart, ADaemonWithBadKeysCitesTheirRule) {
  in_child([] {
    const Cluster cluster(2, "64MiB", kLater);
    Peer peer([&](Channel& channel) { exporter(cluster, 0, channel, 2_MiB); });
    const auto fabric = receive_handle(peer.channel());
    const std::string keys = cluster.directory() + "/keys";
    ASSERT_EQ(mkdir(keys.c_str(), 0700), 0);
    setenv("PLAT_FABRIC_KEYS", keys.c_str(), 1);
    cluster.join(1);
    cluster.configure(1);
    OK(aclrtSetDevice(0));
    aclrtDrvMemHandle handle = nullptr;
    EXPECT_EQ(import(fabric, &handle), 107017);
    EXPECT_EQ(std::string(aclGetRecentErrMsg()).find("FABRIC-Key-own"), 0u) << aclGetRecentErrMsg();
    const std::string key = keys + "/server-1.key";
    std::ofstream(key) << "no key";
    ASSERT_EQ(chmod(key.c_str(), 0644), 0);
    EXPECT_EQ(import(fabric, &handle), 107017);
    const std::string said = aclGetRecentErrMsg();
    EXPECT_EQ(said.find("FABRIC-Key-private"), 0u) << said;
    EXPECT_NE(said.find("chmod 600"), std::string::npos) << said;
    EXPECT_EQ(said.find('\n'), std::string::npos) << said;
    peer.channel().send(0);
  });
}

TEST(FabricStart, AMissingPartNamesItsPackage) {
  const Cluster cluster(1, "64MiB", kLater);
  const auto started = fabric::start_daemon("/nowhere/bin/plat-fabricd", cluster.socket(0), 1000);
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().rule, RuleId::FabricDaemon);
  EXPECT_NE(started.error().detail.find("package plat-fabric"), std::string::npos) << started.error().detail;
  EXPECT_FALSE(fabric::start_daemon("/bin/false", cluster.socket(0), 60000));
  EXPECT_FALSE(fabric::start_daemon("/etc/passwd", cluster.socket(0), 60000));
}

}  // namespace
}  // namespace plat::test
