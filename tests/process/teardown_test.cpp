// SPDX-License-Identifier: Apache-2.0
// What is left after a device was reset or everything was finalized, and what programs are told that go on.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <string>
#include <thread>

#include "acl/acl_rt_memory_soma.h"
#include "base/units.h"
#include "support/machine.h"
#include "support/peer.h"

namespace plat::test {
namespace {

// One of everything on device 0: 2 MiB mapped, 2 MiB not, 4 MiB in huge pages, some in small ones, and a
// pool.
struct Everything {
  void* mapped = map_new(2_MiB);
  aclrtDrvMemHandle handle = allocate(2_MiB);
  void* large = nullptr;
  void* small = nullptr;
  void* pooled = nullptr;
  void* unbound = nullptr;

  Everything() {
    EXPECT_EQ(aclrtMalloc(&large, 4_MiB, ACL_MEM_MALLOC_HUGE_ONLY), ACL_SUCCESS);
    EXPECT_EQ(aclrtMalloc(&small, 100, ACL_MEM_MALLOC_NORMAL_ONLY), ACL_SUCCESS);
    EXPECT_EQ(aclrtReserveMemAddress(&unbound, 2_MiB, 0, nullptr, 0), ACL_SUCCESS);
    aclrtMemPoolProps props{};
    props.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
    aclrtMemPool pool = nullptr;
    aclrtStream stream = nullptr;
    EXPECT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
    EXPECT_EQ(aclrtMemPoolCreate(&pool, &props), ACL_SUCCESS);
    EXPECT_EQ(aclrtMemPoolMallocAsync(&pooled, 2_MiB, pool, stream), ACL_SUCCESS);
    char key[65] = {};
    EXPECT_EQ(aclrtIpcMemGetExportKey(large, 4_MiB, key, sizeof key, 0), ACL_SUCCESS);
    EXPECT_GE(used_bytes(), 10_MiB);
  }

  // Nothing of it is left, and whoever still asks is told why.
  void expect_gone(const char* how) const {
    EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    EXPECT_EQ(used_bytes(), 0u);
    EXPECT_NE(aclrtUnmapMem(mapped), ACL_SUCCESS);
    EXPECT_NE(aclrtReleaseMemAddress(mapped), ACL_SUCCESS);
    EXPECT_NE(aclrtFreePhysical(handle), ACL_SUCCESS);
    for (void* block : {large, small, pooled}) {
      EXPECT_NE(aclrtFree(block), ACL_SUCCESS);
      EXPECT_NE(std::string(aclGetRecentErrMsg()).find(how), std::string::npos) << aclGetRecentErrMsg();
    }
    EXPECT_NE(map_new(4_MiB), nullptr) << aclGetRecentErrMsg();
  }
};

void on_a_machine(const std::function<void()>& body) {
  in_child([&] {
    const Machine machine;
    EXPECT_EQ(aclInit(nullptr), ACL_SUCCESS);
    EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    body();
  });
}

TEST(Teardown, FinalizeTakesEverythingBack) {
  on_a_machine([] {
    const Everything everything;
    EXPECT_EQ(aclrtDeviceEnablePeerAccess(1, 0), ACL_SUCCESS);
    EXPECT_EQ(aclFinalize(), ACL_SUCCESS);
    EXPECT_EQ(aclrtReleaseMemAddress(everything.unbound), 107000);
    everything.expect_gone("aclFinalize");
    int32_t status = 1;
    EXPECT_EQ(aclrtDevicePeerAccessStatus(0, 1, &status), ACL_SUCCESS);
    EXPECT_EQ(status, 0);
  });
}

TEST(Teardown, LastReferenceTakesEverythingBack) {
  on_a_machine([] {
    EXPECT_EQ(aclInit(nullptr), ACL_ERROR_REPEAT_INITIALIZE);
    const Everything everything;
    EXPECT_EQ(aclFinalizeReference(nullptr), ACL_SUCCESS);
    EXPECT_GE(used_bytes(), 10_MiB);
    EXPECT_EQ(aclFinalizeReference(nullptr), ACL_SUCCESS);
    everything.expect_gone("aclFinalizeReference");
  });
}

TEST(Teardown, ForcedResetTakesOneDeviceBack) {
  on_a_machine([] {
    const Everything everything;
    EXPECT_EQ(aclrtSetDevice(1), ACL_SUCCESS);
    void* other = nullptr;
    EXPECT_EQ(aclrtMalloc(&other, 4_MiB, ACL_MEM_MALLOC_HUGE_ONLY), ACL_SUCCESS);
    const uint64_t used = used_bytes();
    EXPECT_EQ(aclrtResetDeviceForce(0), ACL_SUCCESS);
    EXPECT_EQ(used_bytes(), used);
    EXPECT_EQ(aclrtFree(other), ACL_SUCCESS);
    everything.expect_gone("aclrtResetDeviceForce");
    EXPECT_EQ(aclrtReleaseMemAddress(everything.unbound), ACL_SUCCESS);
  });
}

// Programs count their resets and tidy up only then; a release that fails is fatal to some.
TEST(Teardown, CountedResetLeavesMemoryToTheProgram) {
  on_a_machine([] {
    const Everything everything;
    EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
    EXPECT_EQ(aclrtUnmapMem(everything.mapped), ACL_SUCCESS);
    EXPECT_EQ(aclrtReleaseMemAddress(everything.mapped), ACL_SUCCESS);
    EXPECT_EQ(aclrtFreePhysical(everything.handle), ACL_SUCCESS);
    for (void* block : {everything.large, everything.small, everything.pooled})
      EXPECT_EQ(aclrtFree(block), ACL_SUCCESS) << aclGetRecentErrMsg();
  });
}

// What others imported stays theirs; what was imported goes back.
TEST(Teardown, SharedMemoryStaysWithTheOthers) {
  Peer test([](Channel&) {
    const Machine machine;
    Peer exporter([](Channel& channel) {
      EXPECT_EQ(aclInit(nullptr), ACL_SUCCESS);
      EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
      uint64_t number = 0;
      EXPECT_EQ(aclrtMemExportToShareableHandle(allocate(2_MiB), ACL_MEM_HANDLE_TYPE_NONE, 1, &number),
                ACL_SUCCESS);
      void* block = nullptr;
      char key[65] = {};
      EXPECT_EQ(aclrtMalloc(&block, 3_MiB, ACL_MEM_MALLOC_HUGE_ONLY), ACL_SUCCESS);
      EXPECT_EQ(aclrtIpcMemGetExportKey(block, 3_MiB, key, sizeof key, 1), ACL_SUCCESS);
      channel.send(number);
      channel.send_text(key);
      channel.receive();
      EXPECT_EQ(aclFinalize(), ACL_SUCCESS);
      channel.send(0);
      channel.receive();
    });
    const uint64_t number = exporter.channel().receive();
    const std::string key = exporter.channel().receive_text();
    EXPECT_EQ(aclInit(nullptr), ACL_SUCCESS);
    EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    aclrtDrvMemHandle handle = nullptr;
    void* block = nullptr;
    EXPECT_EQ(aclrtMemImportFromShareableHandle(number, 0, &handle), ACL_SUCCESS) << aclGetRecentErrMsg();
    EXPECT_EQ(aclrtIpcMemImportByKey(&block, key.c_str(), 0), ACL_SUCCESS) << aclGetRecentErrMsg();
    exporter.channel().send(0);
    exporter.channel().receive();
    EXPECT_EQ(used_bytes(), 6_MiB);
    EXPECT_EQ(aclrtMemset(block, 3_MiB, 7, 3_MiB), ACL_SUCCESS) << aclGetRecentErrMsg();
    EXPECT_EQ(aclFinalize(), ACL_SUCCESS);
    EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    EXPECT_EQ(used_bytes(), 0u);
    EXPECT_NE(aclrtIpcMemClose(key.c_str()), ACL_SUCCESS);
    EXPECT_NE(aclrtFreePhysical(handle), ACL_SUCCESS);
    exporter.channel().send(0);
    EXPECT_TRUE(exporter.join());
  });
  EXPECT_TRUE(test.join());
}

// Threads that know nothing of it go on; their calls fail or work, and nothing is lost.
TEST(Teardown, MeetsThreadsThatGoOn) {
  on_a_machine([] {
    std::atomic<bool> done{false};
    // A block that is taken back may be the other thread's at once: each writes to a part of its own.
    const auto work = [&done](size_t part) {
      const auto fill = [part](void* memory) {
        (void)aclrtMemset(static_cast<char*>(memory) + part, 2048, 1, 2048);
      };
      while (!done) {
        if (aclrtSetDevice(0) != ACL_SUCCESS) continue;
        void* block = nullptr;
        if (aclrtMalloc(&block, 4096, ACL_MEM_MALLOC_HUGE_FIRST) == ACL_SUCCESS) {
          fill(block);
          (void)aclrtFree(block);
        }
        void* mapped = map_new(2_MiB);
        aclrtDrvMemHandle handle = nullptr;
        if (mapped != nullptr && aclrtMemRetainAllocationHandle(mapped, &handle) == ACL_SUCCESS) {
          fill(mapped);
          (void)aclrtUnmapMem(mapped);
          (void)aclrtFreePhysical(handle);
          (void)aclrtFreePhysical(handle);
          (void)aclrtReleaseMemAddress(mapped);
        }
      }
    };
    std::thread one(work, 0);
    std::thread two(work, 2048);
    for (int round = 0; round < 100; ++round) {
      (void)aclrtResetDeviceForce(0);
      EXPECT_EQ(aclFinalize(), ACL_SUCCESS);
      EXPECT_EQ(aclInit(nullptr), ACL_SUCCESS);
    }
    done = true;
    one.join();
    two.join();
    EXPECT_EQ(aclFinalize(), ACL_SUCCESS);
    EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    EXPECT_EQ(used_bytes(), 0u);
    EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
  });
}

TEST(Teardown, QueuedWorkRunsBeforeItsMemoryGoes) {
  on_a_machine([] {
    void* block = nullptr;
    void* host = nullptr;
    EXPECT_EQ(aclrtMalloc(&block, 2_MiB, ACL_MEM_MALLOC_HUGE_ONLY), ACL_SUCCESS);
    EXPECT_EQ(aclrtMallocHost(&host, 4096), ACL_SUCCESS);
    aclrtStream stream = nullptr;
    EXPECT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
    for (int i = 0; i < 50; ++i) EXPECT_EQ(aclrtMemsetAsync(block, 2_MiB, i, 2_MiB, stream), ACL_SUCCESS);
    EXPECT_EQ(aclrtMemcpyAsync(host, 4096, block, 4096, ACL_MEMCPY_DEVICE_TO_HOST, stream), ACL_SUCCESS);
    EXPECT_EQ(aclFinalize(), ACL_SUCCESS);
    EXPECT_EQ(static_cast<unsigned char*>(host)[4095], 49);
    EXPECT_EQ(aclrtFreeHost(host), ACL_SUCCESS);
  });
}

}  // namespace
}  // namespace plat::test
