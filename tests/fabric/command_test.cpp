// SPDX-License-Identifier: Apache-2.0
// What the plat command shows of memory between servers.
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "fabric/between.h"
#include "fabric/fake_daemon.h"

namespace plat::test {
namespace {

std::string said_by(const std::string& arguments, int* exit_code = nullptr) {
  std::string command = PLAT_COMMAND;
  command.append(" ").append(arguments).append(" 2>&1");
  FILE* const pipe = popen(command.c_str(), "r");
  std::string text;
  char buffer[4096];
  for (size_t got = 0; (got = fread(buffer, 1, sizeof buffer, pipe)) > 0;) text.append(buffer, got);
  const int ending = pclose(pipe);
  if (exit_code != nullptr) *exit_code = WIFEXITED(ending) ? WEXITSTATUS(ending) : -1;
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
      EXPECT_EQ(said_by("fabric status --node s1").find("uses memory"), std::string::npos);
      EXPECT_TRUE(says("fabric status --node s0", "holds nothing: server 1 (node s1), 1 data connection\n"));
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

TEST(FabricCommand, InitTakesNoTableThatMakesNoSense) {
  in_child([] {
    const Cluster cluster(0, "64MiB");
    const std::string keys = cluster.directory() + "/keys", table = cluster.directory() + "/table";
    const std::string init = "fabric init --keys " + keys + " --table " + table + " ";
    for (const char* servers : {"0=", "0=here", "0=here:0", "9999=here:1", "x=here:1", "=here:1",
                                "0=here:1 0=there:1", "0=here:1 1=here:1"}) {
      int code = -1;
      const std::string said = said_by(init + servers, &code);
      EXPECT_EQ(code, 2) << servers << ": " << said;
      EXPECT_NE(said.find("line "), std::string::npos) << said;
      EXPECT_FALSE(std::filesystem::exists(table) || std::filesystem::exists(keys)) << servers;
    }
    int code = -1;
    EXPECT_TRUE(says(init + "0=here:1 7=here:2", "ca.crt for all"));
    EXPECT_TRUE(std::filesystem::exists(keys + "/server-7.key"));
    const std::string said = said_by(init + "0=here:1", &code);
    EXPECT_EQ(code, 1);
    EXPECT_NE(said.find("is there already"), std::string::npos) << said;
  });
}

// After an upgrade the daemon of before may still run: it is no use to anybody, and says so.
TEST(FabricCommand, ADaemonOfAnotherVersionIsNoSuccess) {
  in_child([] {
    const Cluster cluster(2, "64MiB", Cluster::Daemons::AreStartedLater);
    Peer peer([&](Channel& channel) { exporter(cluster, 0, channel, 2_MiB); });
    aclrtMemFabricHandle fabric = receive_handle(peer.channel());
    cluster.join(1);
    cluster.configure(1);
    const FakeDaemon old(cluster.socket(1), [](int socket, const fabric::Request&) {
      fabric::Reply reply;
      reply.version = fabric::kWireVersion + 1;
      reply.cause = fabric::Cause::Version;
      fabric::send(socket, reply, "the daemon speaks another version");
    });
    for (const char* command : {"fabric start", "fabric status"}) {
      int code = -1;
      const std::string said = said_by(command, &code);
      EXPECT_EQ(code, 1) << said;
      EXPECT_NE(said.find("is of another version (the daemon speaks another version)"), std::string::npos)
          << said;
      EXPECT_NE(said.find("'plat fabric stop' ends it"), std::string::npos) << said;
      EXPECT_EQ(said.find("runs already"), std::string::npos) << said;
    }
    OK(aclrtSetDevice(0));
    aclrtDrvMemHandle handle = nullptr;
    EXPECT_EQ(aclrtMemImportFromShareableHandleV2(&fabric, kFabric, 0, &handle), 107017);
    EXPECT_EQ(std::string(aclGetRecentErrMsg()).find("FABRIC-Version-match"), 0u) << aclGetRecentErrMsg();
    EXPECT_TRUE(says("fabric stop", "stopped"));
    peer.channel().send(0);
  });
}

// And the daemon says so to a program of another version, though it asks in another length.
TEST(FabricCommand, AProgramOfAnotherVersionIsToldSo) {
  in_child([] {
    const Cluster cluster(1, "64MiB");
    for (const size_t length : {sizeof(fabric::Request), sizeof(fabric::Request) - 8}) {
      const os::Fd asking = os::connect_to(cluster.socket(0), 10000);
      fabric::Request request;
      request.version = fabric::kWireVersion + 1;
      ASSERT_TRUE(os::send_packet(asking.get(), std::as_bytes(std::span(&request, 1)).first(length), {}, -1));
      fabric::Reply reply;
      std::string text;
      ASSERT_EQ(fabric::receive(asking.get(), reply, text, 60000), fabric::Received::Message) << length;
      EXPECT_EQ(reply.cause, fabric::Cause::Version);
      EXPECT_NE(text.find("the daemon speaks version"), std::string::npos) << text;
    }
  });
}

// What keeps a daemon from starting is named, and nothing else.
TEST(FabricCommand, StartSaysWhyThereIsNoDaemon) {
  in_child([] {
    const Cluster cluster(2, "64MiB");
    cluster.join(1);
    cluster.configure(1);
    setenv("PLAT_NODE", "t1", 1);
    EXPECT_TRUE(says("fabric start", "Address already in use; does another daemon?"));
    std::ofstream(cluster.table(1)) << "1 nowhere.invalid:7100\n";
    EXPECT_TRUE(says("fabric start", "cannot listen at nowhere.invalid"));
    setenv("PLAT_SERVER", "none", 1);
    EXPECT_TRUE(says("fabric start", "without a server id: memory between servers needs PLAT_PRODUCT=a3"));
    unsetenv("PLAT_SERVER");
    setenv("PLAT_PRODUCT", "a2", 1);
    EXPECT_TRUE(says("fabric start", "has no fabric: memory between servers needs PLAT_PRODUCT=a3"));
  });
}

TEST(FabricCommand, ADaemonOfAnotherUserIsNotTakenForNone) {
  in_child([] {
    const Cluster cluster(1, "64MiB");
    ASSERT_EQ(chmod(cluster.directory().c_str(), 0), 0);
    Peer stranger([&](Channel&) {
      if (geteuid() == 0) {
        ASSERT_EQ(setuid(65534), 0);  // no mode keeps root out
      }
      cluster.join(0);
      for (const char* command : {"fabric status", "fabric stop"})
        EXPECT_TRUE(says(command, "belongs to another user"));
    });
    EXPECT_TRUE(stranger.join());
    ASSERT_EQ(chmod(cluster.directory().c_str(), 0700), 0);
  });
}

TEST(FabricCommand, AStoppedDaemonIsNoSuccess) {
  in_child([] {
    Cluster cluster(1, "64MiB");
    cluster.join(0);
    cluster.configure(0);
    kill(cluster.daemon(0), SIGSTOP);
    for (const char* command : {"fabric start", "fabric status"}) {
      int code = -1;
      const std::string said = said_by(command, &code);
      EXPECT_EQ(code, 1) << said;
      EXPECT_NE(said.find("kill -CONT " + std::to_string(cluster.daemon(0))), std::string::npos) << said;
    }
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
