// SPDX-License-Identifier: Apache-2.0
// Memory goes to its next owner when the last write of another server to it is over, and not before: whatever
// overtakes what, and whoever is killed or stopped in the middle.
#include <string>
#include <thread>

#include "fabric/between.h"
#include "fabric/proxy.h"
#include "fabric/stop.h"

namespace plat::test {
namespace {

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
TEST(FabricLastWrites, MemoryIsNotGivenBackBeforeAWriteToItIsOver) {
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

// The daemon of server 1 is killed in the middle of a write, and the network keeps that to itself. The next
// one is met as the same server: what the first had is over before it begins.
TEST(FabricLastWrites, WhoComesAnewHasNothingOnItsWay) {
  in_child([] {
    Cluster cluster(2, "64MiB", Cluster::Daemons::AreStartedLater);
    cluster.start(0);
    const auto ports = cluster.ports(0);
    Peer network([&](Channel&) { Proxy::run(ports, {}, 1); });
    cluster.route(1, 0, kProxyHost);
    cluster.start(1);
    Peer peer([&](Channel& channel) { exporter(cluster, 0, channel, 2_MiB); });
    const auto fabric = receive_handle(peer.channel());
    for (const uint16_t port : ports) SOON(Proxy::serves(port));
    const auto held = [&] {
      const std::string status = cluster.status(0);
      size_t count = 0;
      for (size_t at = 0; (at = status.find("\"imports\":1", at)) != std::string::npos; ++at) count += 1;
      return count;
    };
    {
      const RawProgram program(cluster);
      const fabric::Reply imported = program.import(fabric);
      ASSERT_EQ(imported.cause, fabric::Cause::None);
      program.begin_write(imported.import, 0);
      EXPECT_EQ(program.written().buffers, 1u);
      stop(network.pid());
      program.begin_write(imported.import, 1);
      program.wait_for_begin();
      EXPECT_EQ(held(), 1u);
      cluster.kill_daemon(1);
    }
    cluster.route(1, 0, "127.0.0.1");
    cluster.start(1);
    const RawProgram program(cluster);
    const fabric::Reply imported = program.import(fabric);
    ASSERT_EQ(imported.cause, fabric::Cause::None);
    EXPECT_EQ(held(), 1u);
    EXPECT_EQ(program.release(imported.import).cause, fabric::Cause::None);
    EXPECT_EQ(held(), 0u);
    kill(network.pid(), SIGCONT);
    peer.channel().send(0);
    EXPECT_EQ(peer.channel().receive(), 0u);
  });
}

// A program gives up on its daemon, which is stopped, and writes again when it goes on: what it finds there
// then is the second, and never what the daemon still had to do of the first.
TEST(FabricLastWrites, WhatAProgramGaveUpIsOverBeforeItWritesAgain) {
  in_child([] {
    setenv("PLAT_FABRIC_DEADLINE", "500", 1);
    constexpr size_t kSize =
        fabric::kBuffers * fabric::kBufferBytes;  // one connection's worth, all asked for at once
    Cluster cluster(2, "64MiB");
    Peer peer([&](Channel& channel) { exporter(cluster, 0, channel, kSize); });
    cluster.join(1);
    OK(aclrtSetDevice(0));
    const Mapped far = import_and_map(receive_handle(peer.channel()), kSize);
    const auto write = [&](uint8_t value, size_t offset, size_t size) {
      const std::vector<uint8_t> bytes(size, value);
      return aclrtMemcpy(far.at(offset), size, bytes.data(), size, ACL_MEMCPY_HOST_TO_DEVICE);
    };
    constexpr size_t kLast = kSize - fabric::kBufferBytes;  // what is asked for last
    int written = 0;
    for (int round = 1; round <= 8; ++round) {
      // Several at a time, so that there are connections to choose from.
      std::vector<std::thread> threads;
      for (int i = 0; i < 4; ++i)
        threads.emplace_back([&] {
          EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
          for (int j = 0; j < 8; ++j) EXPECT_EQ(write(0, 0, kSize), ACL_SUCCESS) << recent();
        });
      for (std::thread& thread : threads) thread.join();

      stop(cluster.daemon(1));
      EXPECT_EQ(write(1, 0, kSize), 507899);
      EXPECT_TRUE(cites("FABRIC-Copy-deadline")) << recent();
      std::thread goes_on([&] {
        os::sleep_microseconds(50000);  // for the next write to ask; if it has not, it finds the daemon awake
        kill(cluster.daemon(1), SIGCONT);
      });
      const aclError again = write(2, kLast, 64);
      goes_on.join();
      if (again != ACL_SUCCESS) continue;  // a machine so busy that the daemon was late once more
      written += 1;
      os::sleep_microseconds(20000);  // for what may still be on its way
      std::vector<uint8_t> seen(64);
      OK(aclrtMemcpy(seen.data(), seen.size(), far.at(kLast), seen.size(), ACL_MEMCPY_DEVICE_TO_HOST));
      EXPECT_TRUE(seen == std::vector<uint8_t>(64, 2)) << "round " << round;
    }
    EXPECT_GT(written, 0);
    far.drop();
    peer.channel().send(0);
    EXPECT_EQ(peer.channel().receive(), 0u);
  });
}

// Importers are killed in the middle of writes, with their server's daemon or the other one stopped or not.
// As soon as the memory is free somebody else takes it, and finds in it what he wrote and nothing else.
TEST(FabricLastWrites, NothingLandsInMemoryThatWentOn) {
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

}  // namespace
}  // namespace plat::test
