// SPDX-License-Identifier: Apache-2.0
// Memory of another server: import, map, every copy and fill, with contents checked from both sides.
#include "fabric/between.h"

#include <sys/mman.h>

#include <fstream>
#include <thread>

namespace plat::test {
namespace {

TEST(Fabric, ReadsAndWritesBothWays) {
  in_child([] {
    between([](Cluster&, Peer& peer, const aclrtMemFabricHandle& fabric) {
      const Mapped far = import_and_map(fabric);
      ASSERT_NE(far.va, nullptr);
      std::vector<uint8_t> seen(kBytes);
      OK(aclrtMemcpy(seen.data(), kBytes, far.va, kBytes, ACL_MEMCPY_DEVICE_TO_HOST));
      EXPECT_EQ(seen, noise(kBytes, 1));
      const auto second = noise(kBytes, 2);
      OK(aclrtMemcpy(far.va, kBytes, second.data(), kBytes, ACL_MEMCPY_HOST_TO_DEVICE));
      EXPECT_TRUE(agrees(peer, 2));
      const Mapped near = map_handle(allocate(kBytes), kBytes);
      OK(aclrtMemcpyAsync(near.va, kBytes, far.va, kBytes, ACL_MEMCPY_DEVICE_TO_DEVICE, nullptr));
      OK(aclrtSynchronizeStream(nullptr));
      OK(aclrtMemcpy(seen.data(), kBytes, near.va, kBytes, ACL_MEMCPY_DEVICE_TO_HOST));
      EXPECT_EQ(seen, second);
      const auto third = noise(kBytes, 3);
      OK(aclrtMemcpy(near.va, kBytes, third.data(), kBytes, ACL_MEMCPY_HOST_TO_DEVICE));
      OK(aclrtMemcpy(far.va, kBytes, near.va, kBytes, ACL_MEMCPY_DEVICE_TO_DEVICE));
      EXPECT_TRUE(agrees(peer, 3));
      near.drop();
      far.drop();
      EXPECT_EQ(used_bytes(), 0u);
      peer.channel().send(0);
      EXPECT_EQ(peer.channel().receive(), 0u);
      EXPECT_TRUE(peer.join());
    });
  });
}

// Copies of any kind at any place, against a copy of the memory on the host.
TEST(Fabric, AnyCopyGivesWhatACopyAtHomeGives) {
  in_child([] {
    between([](Cluster&, Peer& peer, const aclrtMemFabricHandle& fabric) {
      const Mapped far = import_and_map(fabric);
      ASSERT_NE(far.va, nullptr);
      const Mapped near = map_handle(allocate(kBytes), kBytes);
      aclrtStream stream = nullptr;
      OK(aclrtCreateStream(&stream));
      auto there = noise(kBytes, 1);
      std::vector<uint8_t> here(kBytes, 0);
      uint8_t* pinned = nullptr;
      OK(aclrtMallocHost(reinterpret_cast<void**>(&pinned), kBytes));
      std::mt19937 random(7);
      const auto below = [&](size_t limit) { return random() % limit; };
      for (int step = 0; step < 120; ++step) {
        const size_t size = 1 + (below(4) == 0 ? below(6_MiB) : below(5000));
        const size_t to = below(kBytes - size), from = below(kBytes - size);
        switch (below(8)) {
          case 0:
            OK(aclrtMemcpy(far.at(to), size, near.at(from), size, ACL_MEMCPY_DEVICE_TO_DEVICE));
            std::copy_n(here.begin() + from, size, there.begin() + to);
            break;
          case 1:
            OK(aclrtMemcpyAsync(near.at(to), size, far.at(from), size, ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
            std::copy_n(there.begin() + from, size, here.begin() + to);
            break;
          case 2:
            OK(aclrtMemset(far.at(to), size, step, size));
            std::fill_n(there.begin() + to, size, static_cast<uint8_t>(step));
            break;
          case 3:
            OK(aclrtMemsetAsync(far.at(to), size, step, size, stream));
            std::fill_n(there.begin() + to, size, static_cast<uint8_t>(step));
            break;
          case 4: {
            for (size_t i = 0; i < size; ++i) pinned[i] = static_cast<uint8_t>(i * 7 + step);
            OK(aclrtMemcpyAsync(far.at(to), size, pinned, size, ACL_MEMCPY_HOST_TO_DEVICE, stream));
            OK(aclrtSynchronizeStream(stream));
            std::copy_n(pinned, size, there.begin() + to);
            break;
          }
          case 5: {
            const size_t width = 1 + below(3000), height = 1 + below(40), pitch = width + below(500);
            const size_t start = below(kBytes - height * pitch);
            for (size_t i = 0; i < height * width; ++i) pinned[i] = static_cast<uint8_t>(i + step);
            OK(aclrtMemcpy2d(far.at(start), pitch, pinned, width, width, height, ACL_MEMCPY_HOST_TO_DEVICE));
            for (size_t row = 0; row < height; ++row)
              std::copy_n(pinned + row * width, width, there.begin() + start + row * pitch);
            break;
          }
          case 6:  // within the other server; ranges may overlap
            OK(aclrtMemcpyAsync(far.at(to), size, far.at(from), size, ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
            std::memmove(there.data() + to, there.data() + from, size);
            break;
          default: {
            std::vector<uint8_t> seen(size);
            OK(aclrtSynchronizeStream(stream));
            OK(aclrtMemcpy(seen.data(), size, far.at(from), size, ACL_MEMCPY_DEVICE_TO_HOST));
            ASSERT_TRUE(std::equal(seen.begin(), seen.end(), there.begin() + from)) << "step " << step;
          }
        }
        OK(aclrtSynchronizeStream(stream));
      }
      std::vector<uint8_t> seen(kBytes);
      OK(aclrtMemcpy(seen.data(), kBytes, far.va, kBytes, ACL_MEMCPY_DEVICE_TO_HOST));
      EXPECT_EQ(seen, there);
      OK(aclrtMemcpy(seen.data(), kBytes, near.va, kBytes, ACL_MEMCPY_DEVICE_TO_HOST));
      EXPECT_EQ(seen, here);
      const auto last = noise(kBytes, 9);
      OK(aclrtMemcpy(far.va, kBytes, last.data(), kBytes, ACL_MEMCPY_HOST_TO_DEVICE));
      EXPECT_TRUE(agrees(peer, 9));
    });
  });
}

TEST(Fabric, ThreadsCopyAtTheSameTime) {
  in_child([] {
    between([](Cluster&, Peer& peer, const aclrtMemFabricHandle& fabric) {
      const Mapped far = import_and_map(fabric);
      ASSERT_NE(far.va, nullptr);
      const auto wanted = noise(kBytes, 5);
      std::vector<std::thread> threads;
      constexpr size_t kThreads = 6, kPart = kBytes / kThreads;
      for (size_t part = 0; part < kThreads; ++part)
        threads.emplace_back([&, part] {
          OK(aclrtSetDevice(0));
          for (int round = 0; round < 5; ++round) {
            const uint8_t* from = wanted.data() + part * kPart;
            OK(aclrtMemcpy(far.at(part * kPart), kPart, from, kPart, ACL_MEMCPY_HOST_TO_DEVICE));
            std::vector<uint8_t> seen(kPart);
            OK(aclrtMemcpy(seen.data(), kPart, far.at(part * kPart), kPart, ACL_MEMCPY_DEVICE_TO_HOST));
            EXPECT_TRUE(std::equal(seen.begin(), seen.end(), from));
          }
        });
      for (std::thread& thread : threads) thread.join();
      EXPECT_TRUE(agrees(peer, 5));
    });
  });
}

// Copies of every length near those at which pieces are cut, in both directions.
TEST(Fabric, PiecesOfEveryLength) {
  in_child([] {
    between([](Cluster&, Peer& peer, const aclrtMemFabricHandle& fabric) {
      const Mapped far = import_and_map(fabric);
      ASSERT_NE(far.va, nullptr);
      uint32_t seed = 10;
      for (const size_t whole : {64_KiB, 256_KiB, 320_KiB, 512_KiB, 576_KiB, 1_MiB, 2_MiB, 4_MiB})
        for (const int more : {-1, 0, 1}) {
          const size_t size = whole + static_cast<size_t>(more);
          const auto bytes = noise(size, ++seed);
          OK(aclrtMemcpy(far.va, size, bytes.data(), size, ACL_MEMCPY_HOST_TO_DEVICE));
          std::vector<uint8_t> seen(size);
          OK(aclrtMemcpy(seen.data(), size, far.va, size, ACL_MEMCPY_DEVICE_TO_HOST));
          EXPECT_TRUE(seen == bytes) << size;
        }
      const auto last = noise(kBytes, 2);
      OK(aclrtMemcpy(far.va, kBytes, last.data(), kBytes, ACL_MEMCPY_HOST_TO_DEVICE));
      EXPECT_TRUE(agrees(peer, 2));
    });
  });
}

// A write whose source ends in the middle has come to rest when the call returns, and the next one is as good
// as any.
TEST(Fabric, ASourceThatEndsInTheMiddle) {
  in_child([] {
    between([](Cluster&, Peer& peer, const aclrtMemFabricHandle& fabric) {
      const Mapped far = import_and_map(fabric);
      ASSERT_NE(far.va, nullptr);
      auto* const source = static_cast<uint8_t*>(
          mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
      const auto bytes = noise(kBytes, 2);
      memcpy(source, bytes.data(), kBytes);
      for (const size_t size : {1_MiB, 2_MiB, kBytes})
        for (const size_t good : {size / 2, size - 4_KiB}) {
          ASSERT_EQ(mprotect(source + good, size - good, PROT_NONE), 0);
          EXPECT_NE(aclrtMemcpy(far.va, size, source, size, ACL_MEMCPY_HOST_TO_DEVICE), ACL_SUCCESS);
          ASSERT_EQ(mprotect(source, kBytes, PROT_READ), 0);
          OK(aclrtMemcpy(far.va, size, source, size, ACL_MEMCPY_HOST_TO_DEVICE));
        }
      EXPECT_TRUE(agrees(peer, 2));
      munmap(source, kBytes);
    });
  });
}

TEST(Fabric, RulesAreThoseOfMemoryAtHome) {
  in_child([] {
    between([](Cluster&, Peer&, const aclrtMemFabricHandle& fabric) {
      const Mapped far = import_and_map(fabric);
      ASSERT_NE(far.va, nullptr);
      std::vector<uint8_t> host(kBytes + 1);
      EXPECT_NE(aclrtMemcpy(host.data(), kBytes + 1, far.va, kBytes + 1, ACL_MEMCPY_DEVICE_TO_HOST),
                ACL_SUCCESS);
      EXPECT_NE(std::string(aclGetRecentErrMsg()).find("COPY-"), std::string::npos) << aclGetRecentErrMsg();
      aclrtMemFabricHandle again{};
      EXPECT_EQ(aclrtMemExportToShareableHandleV2(far.handle, kEverybody, kFabric, &again), 507899);
      aclrtMemAccessDesc host_access{};
      host_access.flags = ACL_RT_MEM_ACCESS_FLAGS_READWRITE;
      host_access.location.type = ACL_MEM_LOCATION_TYPE_HOST;
      EXPECT_EQ(aclrtMemSetAccess(far.va, kBytes, &host_access, 1), 207000);
      aclrtPhysicalMemProp prop{};
      OK(aclrtMemGetAllocationPropertiesFromHandle(far.handle, &prop));
      EXPECT_EQ(prop.location.type, ACL_MEM_LOCATION_TYPE_DEVICE);
      EXPECT_EQ(prop.memAttr, ACL_HBM_MEM_HUGE);
      aclrtDrvMemHandle retained = nullptr;
      OK(aclrtMemRetainAllocationHandle(far.va, &retained));
      EXPECT_EQ(retained, far.handle);
      OK(aclrtFreePhysical(retained));
      OK(aclrtUnmapMem(far.va));
      EXPECT_NE(aclrtMemcpy(host.data(), kBytes, far.va, kBytes, ACL_MEMCPY_DEVICE_TO_HOST), ACL_SUCCESS);
      OK(aclrtMapMem(far.va, kBytes, 0, far.handle, 0));
      OK(aclrtMemcpy(host.data(), kBytes, far.va, kBytes, ACL_MEMCPY_DEVICE_TO_HOST));
      OK(aclrtUnmapMem(far.va));
      OK(aclrtFreePhysical(far.handle));
      EXPECT_EQ(aclrtMapMem(far.va, kBytes, 0, far.handle, 0), 107017) << aclGetRecentErrMsg();
      // A number that nobody gave us.
      aclrtMemFabricHandle guess = fabric;
      auto inside = share::FabricHandle::read(&guess);
      inside.key ^= 1;
      inside.write(&guess);
      aclrtDrvMemHandle none = nullptr;
      EXPECT_EQ(aclrtMemImportFromShareableHandleV2(&guess, kFabric, 0, &none), 107017);
    });
  });
}

TEST(Fabric, MemoryLivesWhileAnotherServerHoldsIt) {
  in_child([] {
    Cluster cluster;
    Peer peer([&](Channel& channel) { exporter(cluster, 0, channel); });
    Peer witness([&](Channel& channel) {
      cluster.join(0);
      OK(aclrtSetDevice(0));
      while (channel.receive() != 0) channel.send(used_bytes());
    });
    const auto used_there = [&] {
      witness.channel().send(1);
      return witness.channel().receive();
    };
    cluster.join(1);
    OK(aclrtSetDevice(0));
    auto fabric = receive_handle(peer.channel());
    const Mapped far = import_and_map(fabric);
    ASSERT_NE(far.va, nullptr);
    peer.channel().send(0);
    EXPECT_EQ(peer.channel().receive(), kBytes);  // freed by its owner, and still held
    EXPECT_TRUE(peer.join());
    EXPECT_EQ(used_there(), kBytes);
    std::vector<uint8_t> seen(kBytes);
    OK(aclrtMemcpy(seen.data(), kBytes, far.va, kBytes, ACL_MEMCPY_DEVICE_TO_HOST));
    EXPECT_EQ(seen, noise(kBytes, 1));
    const Mapped second = import_and_map(fabric);  // its number lives as long
    ASSERT_NE(second.va, nullptr);
    far.drop();
    EXPECT_EQ(used_there(), kBytes);
    second.drop();
    EXPECT_EQ(used_there(), 0u);
    aclrtDrvMemHandle none = nullptr;
    EXPECT_EQ(aclrtMemImportFromShareableHandleV2(&fabric, kFabric, 0, &none), 107017);
    witness.channel().send(0);
  });
}

// What the daemon could write to, by a mistake or by another's will, of the memory files of its devices.
uint64_t reachable_bytes(pid_t daemon) {
  std::ifstream maps("/proc/" + std::to_string(daemon) + "/maps");
  uint64_t sum = 0;
  for (std::string line; std::getline(maps, line);) {
    uint64_t start = 0, end = 0;
    char access[8] = "";
    sscanf(line.c_str(), "%lx-%lx %7s", &start, &end, access);
    const bool is_memory =
        line.find("-dev0.data") != std::string::npos || line.find("plat-memory") != std::string::npos;
    if (is_memory && access[1] == 'w') sum += end - start;
  }
  return sum;
}

TEST(Fabric, TheDaemonReachesOnlyWhatIsImported) {
  in_child([] {
    between([](Cluster& cluster, Peer& peer, const aclrtMemFabricHandle& fabric) {
      const Mapped far = import_and_map(fabric);
      ASSERT_NE(far.va, nullptr);
      OK(aclrtMemset(far.va, kBytes, 7, kBytes));
      EXPECT_EQ(reachable_bytes(cluster.daemon(0)), kBytes);
      far.drop();
      EXPECT_EQ(reachable_bytes(cluster.daemon(0)), 0u);
      peer.channel().send(0);
      EXPECT_EQ(peer.channel().receive(), 0u);
    });
  });
}

}  // namespace
}  // namespace plat::test
