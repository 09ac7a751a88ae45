// SPDX-License-Identifier: Apache-2.0
// What the plat command shows of memory between servers.
#include "fabric/between.h"

namespace plat::test {
namespace {

std::string said_by(const std::string& arguments) {
  FILE* const pipe = popen((std::string(PLAT_COMMAND) + " " + arguments + " 2>&1").c_str(), "r");
  std::string text;
  char buffer[4096];
  for (size_t got = 0; (got = fread(buffer, 1, sizeof buffer, pipe)) > 0;) text.append(buffer, got);
  pclose(pipe);
  return text;
}

bool says(const std::string& arguments, const std::string& words) {
  const std::string text = said_by(arguments);
  const bool found = text.find(words) != std::string::npos;
  if (!found)
    fprintf(stderr, "'plat %s' does not say '%s':\n%s", arguments.c_str(), words.c_str(), text.c_str());
  return found;
}

TEST(FabricCommand, ShowsWhoHoldsWhatAndHowMuchMoves) {
  in_child([] {
    between([](Cluster& cluster, Peer& peer, const aclrtMemFabricHandle& fabric) {
      EXPECT_FALSE(said_by("info --node s0").find("for server") != std::string::npos);
      const Mapped far = import_and_map(fabric);
      ASSERT_NE(far.va, nullptr);
      OK(aclrtMemset(far.va, kBytes, 7, kBytes));
      const std::string holder = "for server 1 (node s1): 12 MiB in 1 import";
      EXPECT_TRUE(says("info --node s0", holder));
      EXPECT_TRUE(says("top --once --node s0", holder));
      EXPECT_TRUE(says("fabric status --node s0", "device 0: 12 MiB in 1 import"));
      EXPECT_TRUE(says("info --node s0 --json", R"("imports": 1)"));
      const std::string use = "uses memory of other servers: 12 MiB in 1 import";
      for (const char* command : {"info", "top --once", "fabric status"}) {
        EXPECT_TRUE(
            says(std::string(command) + " --node s1", "node s0): connected; 12 MiB written, 0 bytes read"));
        EXPECT_TRUE(says(std::string(command) + " --node s1", use));
      }
      EXPECT_TRUE(says("top --once --json --node s1", R"("written_bytes":12582912)"));
      far.drop();
      EXPECT_FALSE(said_by("info --node s0").find("for server") != std::string::npos);
      // A daemon that is stopped keeps nobody from looking.
      kill(cluster.daemon(0), SIGSTOP);
      EXPECT_TRUE(says("info --node s0", "does not answer"));
      kill(cluster.daemon(0), SIGCONT);
      cluster.kill_daemon(1);
      EXPECT_TRUE(says("fabric status --node s1", "no daemon of node 's1' runs"));
      peer.channel().send(0);
    });
  });
}

}  // namespace
}  // namespace plat::test
