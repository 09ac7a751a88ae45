// SPDX-License-Identifier: Apache-2.0
// A call waits for one deadline, whatever it waits for; but a daemon that is being started has a time of its
// own.
#include <thread>

#include "fabric/between.h"
#include "fabric/daemon_files.h"
#include "fabric/fake_daemon.h"

namespace plat::test {
namespace {

constexpr auto kLater = Cluster::Daemons::AreStartedLater;
constexpr uint64_t kDeadlineMs = 3000;
// With a second of grace, and some for a busy machine; twice it is more.
constexpr uint64_t kTooLongMs = 5500;

struct Attempt {
  aclError code = ACL_SUCCESS;
  std::string said;
  uint64_t took_ms = 0;
};

Attempt import(aclrtMemFabricHandle fabric) {
  EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  aclrtDrvMemHandle handle = nullptr;
  Attempt attempt;
  const uint64_t begin = os::monotonic_nanoseconds();
  attempt.code = aclrtMemImportFromShareableHandleV2(&fabric, kFabric, 0, &handle);
  attempt.took_ms = (os::monotonic_nanoseconds() - begin) / 1000000;
  if (attempt.code != ACL_SUCCESS) attempt.said = aclGetRecentErrMsg();
  return attempt;
}

// Two threads, of which the second comes when the first is under way.
std::vector<Attempt> import_twice(const aclrtMemFabricHandle& fabric) {
  std::vector<Attempt> attempts(2);
  std::thread first([&] { attempts[0] = import(fabric); });
  os::sleep_microseconds(300000);
  std::thread second([&] { attempts[1] = import(fabric); });
  first.join();
  second.join();
  return attempts;
}

// A handle of server 0 for a process of server 1.
void as_importer(const std::function<void(const Cluster&, const aclrtMemFabricHandle&)>& body) {
  in_child([&] {
    setenv("PLAT_FABRIC_DEADLINE", std::to_string(kDeadlineMs).c_str(), 1);
    const Cluster cluster(2, "64MiB", kLater);
    Peer peer([&](Channel& channel) {
      cluster.configure(0);
      exporter(cluster, 0, channel, 2_MiB);
    });
    const auto fabric = receive_handle(peer.channel());
    cluster.join(1);
    body(cluster, fabric);
    peer.channel().send(0);
  });
}

TEST(FabricDeadlines, WhoWaitsForAStartWaitsAsLongAsIt) {
  as_importer([](const Cluster& cluster, const aclrtMemFabricHandle& fabric) {
    cluster.configure(1);
    // Another process has the turn to start the daemon, and takes its time.
    Peer slow([&](Channel& channel) {
      const os::Fd turn = fabric::lock_file(cluster.socket(1) + ".start");
      channel.send(static_cast<bool>(turn));
      os::sleep_microseconds(2 * kDeadlineMs * 1000);
    });
    ASSERT_EQ(slow.channel().receive(), 1u);
    for (const Attempt& attempt : import_twice(fabric)) EXPECT_EQ(attempt.code, ACL_SUCCESS) << attempt.said;
    EXPECT_TRUE(slow.join());
  });
}

void greet(int socket) {
  fabric::Reply reply;
  reply.session = 1;
  fabric::send(socket, reply, "");
}

TEST(FabricDeadlines, ADaemonThatGreetsLateHasNoSecondDeadline) {
  as_importer([](const Cluster& cluster, const aclrtMemFabricHandle& fabric) {
    const FakeDaemon fake(cluster.socket(1), [](int socket, const fabric::Request& request) {
      if (request.ask != fabric::Ask::Hello) return;
      os::sleep_microseconds((kDeadlineMs - 300) * 1000);
      greet(socket);
    });
    const Attempt attempt = import(fabric);
    EXPECT_EQ(attempt.code, 107017);
    EXPECT_EQ(attempt.said.find("FABRIC-Import-deadline"), 0u) << attempt.said;
    EXPECT_LT(attempt.took_ms, kTooLongMs);
  });
}

TEST(FabricDeadlines, ADaemonThatFellSilentCostsEveryThreadOneDeadline) {
  as_importer([](const Cluster& cluster, const aclrtMemFabricHandle& fabric) {
    const FakeDaemon fake(cluster.socket(1), [](int socket, const fabric::Request& request) {
      if (request.ask == fabric::Ask::Hello) greet(socket);
    });
    for (const Attempt& attempt : import_twice(fabric)) {
      EXPECT_EQ(attempt.code, 107017);
      EXPECT_EQ(attempt.said.find("FABRIC-Import-deadline"), 0u) << attempt.said;
      EXPECT_NE(attempt.said.find("did not answer"), std::string::npos) << attempt.said;
      EXPECT_LT(attempt.took_ms, kTooLongMs);
    }
  });
}

// The daemon gives no second connection, so that one thread asks after the other.
TEST(FabricDeadlines, WhoWaitedForItsTurnTellsTheDaemonWhatIsLeft) {
  as_importer([](const Cluster& cluster, const aclrtMemFabricHandle& fabric) {
    const FakeDaemon fake(cluster.socket(1), [](int socket, const fabric::Request& request) {
      if (request.ask == fabric::Ask::Hello) return greet(socket);
      fabric::Reply reply;
      reply.cause = fabric::Cause::Unknown;
      if (request.ask == fabric::Ask::Import) {
        os::sleep_microseconds(uint64_t{request.deadline_ms} * 1000);
        reply.cause = fabric::Cause::Timeout;
      }
      fabric::send(socket, reply, "server 0 was silent");
    });
    for (const Attempt& attempt : import_twice(fabric)) {
      EXPECT_EQ(attempt.code, 107017);
      EXPECT_NE(attempt.said.find("server 0 was silent"), std::string::npos) << attempt.said;
    }
  });
}

}  // namespace
}  // namespace plat::test
