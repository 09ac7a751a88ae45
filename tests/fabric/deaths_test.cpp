// SPDX-License-Identifier: Apache-2.0
// Everybody may die, or stop, at any moment: counts come back, nobody waits longer than the deadline, and
// memory of a life that ended is never somebody else's.
#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include "fabric/between.h"
#include "fabric/proxy.h"

namespace plat::test {
namespace {

std::string recent() { return aclGetRecentErrMsg(); }
bool cites(const char* rule) { return recent().rfind(std::string(rule) + " ", 0) == 0; }

aclError read_some(const Mapped& far, size_t size = 4096) {
  std::vector<uint8_t> seen(size);
  return aclrtMemcpy(seen.data(), size, far.va, size, ACL_MEMCPY_DEVICE_TO_HOST);
}

// An importer as a process of its own, which says when it has mapped, and then copies until it is killed.
void importer(const Cluster& cluster, Channel& channel) {
  cluster.join(1);
  OK(aclrtSetDevice(0));
  const auto fabric = receive_handle(channel);
  const Mapped far = import_and_map(fabric);
  channel.send(far.va != nullptr);
  const std::vector<uint8_t> bytes(kBytes, 0x77);
  for (;;) (void)aclrtMemcpy(far.va, kBytes, bytes.data(), kBytes, ACL_MEMCPY_HOST_TO_DEVICE);
}

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

// Stops a process, and waits until all of its threads stand: the call returns before they do.
void stop(pid_t pid) {
  kill(pid, SIGSTOP);
  const auto stands = [](const std::filesystem::path& task) {
    std::ifstream file(task / "stat");
    const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    const size_t name_end = text.rfind(')');
    return name_end == std::string::npos || text.substr(name_end + 2, 1) == "T";
  };
  const std::filesystem::path tasks = "/proc/" + std::to_string(pid) + "/task";
  const auto all_stand = [&] {
    for (const auto& task : std::filesystem::directory_iterator(tasks))
      if (!stands(task.path())) return false;
    return true;
  };
  while (!all_stand()) std::this_thread::yield();
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

// What a program of server 1 says to its daemon, word by word.
class RawProgram {
 public:
  explicit RawProgram(const Cluster& cluster)
      : asking_(os::connect_to(cluster.socket(1), 10000)), moving_(os::connect_to(cluster.socket(1), 10000)) {
    fabric::Request hello;
    hello.ask = fabric::Ask::Hello;
    session_ = ask(hello).session;
    hello.session = session_;
    EXPECT_TRUE(fabric::send(moving_.get(), hello));
    EXPECT_EQ(answer(moving_).cause, fabric::Cause::None);
  }
  fabric::Reply import(const aclrtMemFabricHandle& fabric) const {
    const auto handle = share::FabricHandle::read(&fabric);
    fabric::Request request;
    request.ask = fabric::Ask::Import;
    request.server = handle.server;
    request.share = handle.share;
    request.secret = handle.key;
    request.deadline_ms = kPatienceMs;
    return ask(request);
  }
  fabric::Reply release(uint64_t import) const {
    fabric::Request request;
    request.ask = fabric::Ask::Release;
    request.import = import;
    return ask(request);
  }
  void begin_write(uint64_t import, uint32_t buffer) const {
    fabric::Request request;
    request.ask = fabric::Ask::Write;
    request.import = import;
    request.buffer = buffer;
    request.size_bytes = fabric::kBufferBytes;
    request.deadline_ms = kPatienceMs;
    EXPECT_TRUE(fabric::send(moving_.get(), request));
  }
  fabric::Reply written() const { return answer(moving_); }
  // Requests are taken in turn: when nonsense is refused, the write before it is under way.
  void wait_for_begin() const {
    EXPECT_TRUE(fabric::send(moving_.get(), fabric::Request{}));
    EXPECT_EQ(answer(moving_).cause, fabric::Cause::BadRequest);
  }

 private:
  static constexpr uint32_t kPatienceMs = 60000;
  fabric::Reply ask(const fabric::Request& request) const {
    EXPECT_TRUE(fabric::send(asking_.get(), request));
    return answer(asking_);
  }
  static fabric::Reply answer(const os::Fd& socket) {
    fabric::Reply reply;
    std::string text;
    EXPECT_EQ(fabric::receive(socket.get(), reply, text, kPatienceMs), fabric::Received::Message);
    return reply;
  }

  os::Fd asking_, moving_;
  uint64_t session_ = 0;
};

// A daemon that was stopped and goes on finds what its program said meanwhile, in any order. The network for
// memory stalls here, that for words does not.
TEST(FabricDeaths, MemoryIsNotGivenBackBeforeAWriteToItIsOver) {
  in_child([] {
    Cluster cluster(2, "64MiB", Cluster::Daemons::AreStartedLater);
    cluster.start(0);
    const auto ports = cluster.ports(0);
    Peer words([&](Channel&) { Proxy::run({ports[0]}, {}, 1); });
    Peer memory([&](Channel&) { Proxy::run({ports[1]}, {}, 2); });
    cluster.route(1, 0, kProxyHost);
    cluster.start(1);
    Peer peer([&](Channel& channel) { exporter(cluster, 0, channel, 2_MiB); });
    const auto fabric = receive_handle(peer.channel());
    for (const uint16_t port : ports) SOON(Proxy::serves(port));

    const RawProgram program(cluster);
    const fabric::Reply imported = program.import(fabric);
    ASSERT_EQ(imported.cause, fabric::Cause::None);
    program.begin_write(imported.import, 0);  // makes the connection
    EXPECT_EQ(program.written().buffers, 1u);
    stop(memory.pid());
    program.begin_write(imported.import, 1);
    program.wait_for_begin();
    EXPECT_EQ(program.release(imported.import).cause, fabric::Cause::None);
    EXPECT_NE(cluster.status(0).find("\"imports\":1"), std::string::npos) << cluster.status(0);
    kill(memory.pid(), SIGCONT);
    EXPECT_EQ(program.written().buffers, 2u);
    SOON(cluster.status(0).find("\"imports\"") == std::string::npos);
    peer.channel().send(0);
    EXPECT_EQ(peer.channel().receive(), 0u);
  });
}

// Whoever has another authority's certificates, or none, is a stranger.
TEST(FabricDeaths, StrangersAreRefused) {
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
TEST(FabricDeaths, StaleHandlesStayStale) {
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
TEST(FabricDeaths, AFullMachineRefusesTheImport) {
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
TEST(FabricDeaths, GarbageIsSurvived) {
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

// Importers are killed in the middle of writes, with their server's daemon or the other one stopped or not.
// As soon as the memory is free somebody else takes it, and finds in it what he wrote and nothing else.
TEST(FabricDeaths, NothingLandsInMemoryThatWentOn) {
  in_child([] {
    Cluster cluster(2, "32MiB");
    constexpr uint64_t kTake = 2, kLook = 3;
    Peer next([&](Channel& channel) {
      cluster.join(0);
      OK(aclrtSetDevice(0));
      Mapped all;
      std::vector<uint8_t> bytes(32_MiB, 0x11), seen(32_MiB);
      while (const uint64_t what = channel.receive()) {
        if (what == kTake) {
          SOON(used_bytes() == 0);
          all = map_handle(allocate(32_MiB), 32_MiB);
          OK(aclrtMemcpy(all.va, 32_MiB, bytes.data(), 32_MiB, ACL_MEMCPY_HOST_TO_DEVICE));
        } else if (what == kLook) {
          OK(aclrtMemcpy(seen.data(), 32_MiB, all.va, 32_MiB, ACL_MEMCPY_DEVICE_TO_HOST));
          EXPECT_TRUE(seen == bytes);
          all.drop();
        }
        channel.send(1);
      }
    });
    std::mt19937 random(static_cast<uint32_t>(os::random_number()));
    for (int round = 0; round < 12; ++round) {
      Peer peer([&](Channel& channel) { exporter(cluster, 0, channel); });
      Peer victim([&](Channel& channel) { importer(cluster, channel); });
      send_handle(victim.channel(), receive_handle(peer.channel()));
      ASSERT_EQ(victim.channel().receive(), 1u);
      peer.channel().send(0);
      EXPECT_EQ(peer.channel().receive(), kBytes);
      os::sleep_microseconds(static_cast<uint32_t>(random() % 15000));
      const pid_t stopped = round % 3 == 0 ? 0 : cluster.daemon(round % 3 - 1);
      if (stopped != 0) kill(stopped, SIGSTOP);
      victim.kill_now();
      if (stopped != 0) kill(stopped, SIGCONT);
      next.channel().send(kTake);
      EXPECT_EQ(next.channel().receive(), 1u);
      os::sleep_microseconds(2000);  // for what may still be on its way
      next.channel().send(kLook);
      EXPECT_EQ(next.channel().receive(), 1u);
    }
    next.channel().send(0);
    EXPECT_TRUE(next.join());
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
