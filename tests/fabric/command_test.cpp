// SPDX-License-Identifier: Apache-2.0
// What the plat command shows of memory between servers.
#include <filesystem>
#include <fstream>

#include "fabric/between.h"

namespace plat::test {
namespace {

std::string said_by(const std::string& arguments) {
  std::string command = PLAT_COMMAND;
  command.append(" ").append(arguments).append(" 2>&1");
  FILE* const pipe = popen(command.c_str(), "r");
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

// Its memory is cleaned up by others; these files would stay for ever.
TEST(FabricCommand, CleanRemovesWhatADaemonLeft) {
  in_child([] {
    Cluster cluster;
    cluster.join(0);
    const std::string dead = cluster.socket(0), living = cluster.socket(1);
    cluster.kill_daemon(0);
    std::ofstream(dead + ".log") << "what it said, when a program started it\n";
    const auto is_there = [](const std::string& path) { return std::filesystem::exists(path); };
    EXPECT_TRUE(says("clean --dry-run", "would remove: " + dead + ".lock"));
    EXPECT_TRUE(is_there(dead) && is_there(dead + ".lock"));
    EXPECT_TRUE(says("clean --node s1", "in use, kept: " + living));
    EXPECT_TRUE(is_there(dead) && is_there(living));
    EXPECT_TRUE(says("clean", "removed: " + dead + "\n"));
    for (const char* ending : {"", ".log", ".start", ".lock"})
      EXPECT_FALSE(is_there(dead + ending)) << ending;
    EXPECT_TRUE(is_there(living) && is_there(living + ".lock"));
    // Nothing is in the way of the next one, and two of a node are refused as before.
    cluster.start(0);
    cluster.configure(0);
    EXPECT_TRUE(says("fabric start", "It runs already."));
    const pid_t second = fork();
    if (second == 0) {
      execl(FABRIC_DAEMON, FABRIC_DAEMON, "serve", nullptr);
      _exit(127);
    }
    int ending = 0;
    waitpid(second, &ending, 0);
    EXPECT_TRUE(WIFEXITED(ending) && WEXITSTATUS(ending) == 1);
  });
}

}  // namespace
}  // namespace plat::test
