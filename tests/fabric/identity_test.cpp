// SPDX-License-Identifier: Apache-2.0
// A server id is one machine's: a second daemon with the same id is refused, by the names of both.
#include <fstream>

#include "fabric/between.h"

namespace plat::test {
namespace {

// Makes the calling process one of another node that says it is server 1 too.
void join_as_impostor(const Cluster& cluster, const std::string& table) {
  cluster.join(1);
  setenv("PLAT_NODE", "t1", 1);
  setenv("PLAT_FABRIC", table.c_str(), 1);
}

struct Ended {
  int code = 0;
  std::string said;
};
// A daemon that is expected not to start.
Ended run_daemon(const std::function<void()>& join) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    join();
    dup2(ends[1], STDERR_FILENO);
    execl(FABRIC_DAEMON, FABRIC_DAEMON, "serve", nullptr);
    _exit(127);
  }
  close(ends[1]);
  Ended ended;
  char bytes[512];
  for (ssize_t got = 0; (got = read(ends[0], bytes, sizeof bytes)) > 0;)
    ended.said.append(bytes, static_cast<size_t>(got));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  ended.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return ended;
}

TEST(FabricIdentity, TwoDaemonsOfOneIdAreNotAtOneAddress) {
  in_child([] {
    const Cluster cluster;
    const Ended ended = run_daemon([&] { join_as_impostor(cluster, cluster.table(1)); });
    EXPECT_EQ(ended.code, 1);
    const std::string address = "127.0.0.1:" + std::to_string(cluster.ports(1).front());
    EXPECT_NE(ended.said.find("server 1 cannot listen at " + address), std::string::npos) << ended.said;
  });
}

TEST(FabricIdentity, TwoDaemonsOfOneIdAreNotBothGuests) {
  in_child([] {
    Cluster cluster;
    // A table of its own, in which it is somewhere else.
    const std::string table = cluster.directory() + "/servers-t1";
    std::ofstream(table) << "0 127.0.0.1:" << cluster.ports(0).front()
                         << "\n1 127.0.0.3:" << cluster.ports(1).front() << "\n";
    Peer peer([&](Channel& channel) { exporter(cluster, 0, channel); });
    const auto fabric = receive_handle(peer.channel());
    Peer rightful([&](Channel& channel) {
      cluster.join(1);
      OK(aclrtSetDevice(0));
      const Mapped far = import_and_map(receive_handle(channel));
      channel.send(far.va != nullptr);
      channel.receive();
      far.drop();
    });
    send_handle(rightful.channel(), fabric);
    EXPECT_EQ(rightful.channel().receive(), 1u);
    join_as_impostor(cluster, table);
    OK(aclrtSetDevice(0));
    aclrtMemFabricHandle wanted = fabric;
    aclrtDrvMemHandle handle = nullptr;
    EXPECT_EQ(aclrtMemImportFromShareableHandleV2(&wanted, kFabric, 0, &handle), 107017);
    const std::string said = aclGetRecentErrMsg();
    EXPECT_EQ(said.find("FABRIC-Peer-trusted"), 0u) << said;
    EXPECT_NE(said.find("node 't1' and node 's1' are both server 1"), std::string::npos) << said;
    // The id is free again when the other daemon is gone.
    cluster.kill_daemon(1);
    SOON(aclrtMemImportFromShareableHandleV2(&wanted, kFabric, 0, &handle) == ACL_SUCCESS);
    EXPECT_EQ(aclrtFreePhysical(handle), ACL_SUCCESS);
    const os::Fd asking = os::connect_to(fabric::socket_path(cluster.directory(), "t1"), 10000);
    if (asking) kill(os::peer_of(asking.get()).value_or(os::SocketPeer{}).pid, SIGKILL);
    rightful.kill_now();
    peer.channel().send(0);
    EXPECT_EQ(peer.channel().receive(), 0u);
  });
}

}  // namespace
}  // namespace plat::test
