// SPDX-License-Identifier: Apache-2.0
// A daemon that no other server uses sleeps: also after others have used it, whatever became of them.
#include <filesystem>
#include <fstream>
#include <string>

#include "fabric/between.h"

namespace plat::test {
namespace {

// How often its threads have woken so far. Reading it does not wake the daemon.
uint64_t wakes_of(pid_t pid) {
  uint64_t sum = 0;
  std::error_code gone;
  for (const auto& task :
       std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/task", gone)) {
    std::ifstream status(task.path() / "status");
    const std::string wanted = "voluntary_ctxt_switches:";
    for (std::string line; std::getline(status, line);)
      if (line.rfind(wanted, 0) == 0) sum += std::stoull(line.substr(wanted.size()));
  }
  return sum;
}

// Whoever wakes once a second, or more often, does it in every such while.
bool sleeps(pid_t pid) {
  const uint64_t before = wakes_of(pid);
  os::sleep_microseconds(3000000);
  return before != 0 && wakes_of(pid) == before;
}

TEST(FabricIdle, SleepsBeforeAnybodyCame) {
  in_child([] {
    const Cluster cluster(1);
    SOON(sleeps(cluster.daemon(0)));
  });
}

TEST(FabricIdle, BothSleepWhenNobodyUsesTheOther) {
  in_child([] {
    between([](Cluster& cluster, Peer& peer, const aclrtMemFabricHandle& fabric) {
      const Mapped far = import_and_map(fabric);
      ASSERT_NE(far.va, nullptr);
      OK(aclrtMemset(far.va, kBytes, 7, kBytes));
      SOON(!sleeps(cluster.daemon(1)));  // it watches over what it uses
      far.drop();
      SOON(sleeps(cluster.daemon(1)));
      SOON(sleeps(cluster.daemon(0)));
      // And they find each other again.
      const Mapped again = import_and_map(fabric);
      ASSERT_NE(again.va, nullptr);
      OK(aclrtMemset(again.va, kBytes, 8, kBytes));
      again.drop();
      peer.channel().send(0);
      EXPECT_EQ(peer.channel().receive(), 0u);
    });
  });
}

TEST(FabricIdle, SleepsWhenTheOtherIsGone) {
  in_child([] {
    between([](Cluster& cluster, Peer& peer, const aclrtMemFabricHandle& fabric) {
      const Mapped far = import_and_map(fabric);
      ASSERT_NE(far.va, nullptr);
      cluster.kill_daemon(0);
      SOON(sleeps(cluster.daemon(1)));  // although it is still imported
      EXPECT_EQ(aclrtMemset(far.va, kBytes, 7, kBytes), 507899);
      cluster.start(0);
      const Mapped again = import_and_map(fabric);
      ASSERT_NE(again.va, nullptr);
      cluster.kill_daemon(1);
      SOON(sleeps(cluster.daemon(0)));
      peer.channel().send(0);
      EXPECT_EQ(peer.channel().receive(), 0u);
    });
  });
}

}  // namespace
}  // namespace plat::test
