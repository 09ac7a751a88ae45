// SPDX-License-Identifier: Apache-2.0
// IPC keys and imports, at the calls: whichever call frees a block ends its keys, and imports let devices
// meet.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "acl/acl_rt_memory_soma.h"
#include "acl/ops/acl_dvpp.h"
#include "base/units.h"
#include "support/machine.h"
#include "support/peer.h"

namespace plat::test {
namespace {

std::string export_key(void* block, uint64_t flags = 0) {
  char key[65] = {};
  EXPECT_EQ(aclrtIpcMemGetExportKey(block, 64, key, sizeof key, flags), ACL_SUCCESS) << aclGetRecentErrMsg();
  return key;
}

bool is_live(const std::string& key) {
  int32_t pid = 1;
  return aclrtIpcMemSetImportPid(key.c_str(), &pid, 1) == ACL_SUCCESS;
}

void on_a_machine(const std::function<void()>& body) {
  in_child([&] {
    const Machine machine;
    EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    body();
  });
}

// Two processes of one machine that talk to each other.
void on_two_processes(
    const std::function<void(Channel&)>& one, const std::function<void(Channel&)>& other,
    const std::function<void()>& before_the_other = [] {}) {
  in_child([&] {
    const Machine machine;
    Peer peer([&](Channel& channel) {
      EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS) << aclGetRecentErrMsg();
      one(channel);
    });
    before_the_other();
    EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS) << aclGetRecentErrMsg();
    other(peer.channel());
    EXPECT_TRUE(peer.join());
  });
}

void* pool_block(aclrtStream stream) {
  aclrtMemPoolProps props{};
  props.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
  aclrtMemPool pool = nullptr;
  void* block = nullptr;
  EXPECT_EQ(aclrtMemPoolCreate(&pool, &props), ACL_SUCCESS) << aclGetRecentErrMsg();
  EXPECT_EQ(aclrtMemPoolMallocAsync(&block, 4_MiB, pool, stream), ACL_SUCCESS) << aclGetRecentErrMsg();
  return block;
}

void expect_no_key(void* block) {
  char key[65] = {};
  EXPECT_EQ(aclrtIpcMemGetExportKey(block, 64, key, sizeof key, 0), 507899);
  EXPECT_NE(std::string(aclGetRecentErrMsg()).find("IPC-Export-allocation"), std::string::npos)
      << aclGetRecentErrMsg();
}

TEST(IpcKeys, AreOfBlocksAndMappingsAlone) {
  on_a_machine([] {
    aclrtStream stream = nullptr;
    EXPECT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
    expect_no_key(pool_block(stream));
    void* media = nullptr;
    EXPECT_EQ(acldvppMalloc(&media, 4096), ACL_SUCCESS);
    expect_no_key(media);
    EXPECT_EQ(export_key(map_new(2_MiB)).size(), 64u);
    void* block = nullptr;
    EXPECT_EQ(aclrtMalloc(&block, 4096, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    EXPECT_EQ(export_key(block).size(), 64u);
    EXPECT_EQ(aclrtFree(block), ACL_SUCCESS);
    expect_no_key(block);
  });
}

TEST(IpcKeys, EndInStreamOrderWhereTheFreeDoes) {
  on_a_machine([] {
    aclrtStream stream = nullptr;
    aclrtEvent awaited = nullptr;
    EXPECT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
    EXPECT_EQ(aclrtCreateEventWithFlag(&awaited, ACL_EVENT_SYNC), ACL_SUCCESS);
    void* block = nullptr;
    EXPECT_EQ(aclrtMalloc(&block, 4096, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    const std::string key = export_key(block);
    EXPECT_EQ(aclrtStreamWaitEvent(stream, awaited), ACL_SUCCESS);
    EXPECT_EQ(aclrtMemPoolFreeAsync(block, stream), ACL_SUCCESS);
    EXPECT_EQ(aclrtMemPoolFreeAsync(block, stream), ACL_ERROR_RT_PARAM_INVALID);
    EXPECT_TRUE(is_live(key));
    EXPECT_EQ(aclrtRecordEvent(awaited, nullptr), ACL_SUCCESS);
    EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
    EXPECT_FALSE(is_live(key));
  });
}

// Two small blocks lie in one page of 2 MiB, and the other process is given all of it: it must see one only.
TEST(IpcKeys, ReachOneBlockAmongSmallOnes) {
  on_two_processes(
      [](Channel& channel) {
        void* block = nullptr;
        void* neighbour = nullptr;
        EXPECT_EQ(aclrtMalloc(&block, 4000, ACL_MEM_MALLOC_NORMAL_ONLY), ACL_SUCCESS);
        EXPECT_EQ(aclrtMalloc(&neighbour, 4000, ACL_MEM_MALLOC_NORMAL_ONLY), ACL_SUCCESS);
        EXPECT_LT(static_cast<char*>(neighbour) - static_cast<char*>(block), 2_MiB);
        EXPECT_EQ(aclrtMemset(neighbour, 4000, 5, 4000), ACL_SUCCESS);
        std::vector<void*> blocks;
        char key[65] = {};
        EXPECT_EQ(aclrtIpcMemGetExportKey(block, 4000, key, sizeof key, 1), ACL_SUCCESS);
        channel.send_text(key);
        channel.receive();  // imported
        // What is freed now stays with the other one: the next blocks lie elsewhere.
        EXPECT_EQ(aclrtFree(block), ACL_SUCCESS);
        for (int i = 0; i < 8; ++i) {
          void* next = nullptr;
          EXPECT_EQ(aclrtMalloc(&next, 4000, ACL_MEM_MALLOC_NORMAL_ONLY), ACL_SUCCESS);
          EXPECT_EQ(aclrtMemset(next, 4000, 6, 4000), ACL_SUCCESS);
          blocks.push_back(next);
        }
        channel.send(0);
        channel.receive();  // written
        blocks.push_back(neighbour);
        for (void* other : blocks) {
          unsigned char byte = 0;
          EXPECT_EQ(aclrtMemcpy(&byte, 1, other, 1, ACL_MEMCPY_DEVICE_TO_HOST), ACL_SUCCESS);
          EXPECT_EQ(byte, other == neighbour ? 5 : 6);
          EXPECT_EQ(aclrtFree(other), ACL_SUCCESS);
        }
        channel.send(0);
        channel.receive();
      },
      [](Channel& channel) {
        const std::string key = channel.receive_text();
        void* block = nullptr;
        EXPECT_EQ(aclrtIpcMemImportByKey(&block, key.c_str(), 0), ACL_SUCCESS) << aclGetRecentErrMsg();
        void* base = nullptr;
        size_t size = 0;
        EXPECT_EQ(aclrtMemGetAddressRange(block, &base, &size), ACL_SUCCESS);
        EXPECT_EQ(base, block);
        EXPECT_EQ(size, 4000u);
        EXPECT_NE(aclrtMemset(block, 8192, 9, 4001), ACL_SUCCESS);
        EXPECT_NE(std::string(aclGetRecentErrMsg()).find("COPY-Range-one-block"), std::string::npos)
            << aclGetRecentErrMsg();
        EXPECT_NE(aclrtMemset(static_cast<char*>(block) + 4096, 8192, 9, 64), ACL_SUCCESS);
        channel.send(0);
        channel.receive();  // freed at home
        EXPECT_EQ(aclrtMemset(block, 4000, 9, 4000), ACL_SUCCESS) << aclGetRecentErrMsg();
        channel.send(0);
        channel.receive();
        EXPECT_EQ(used_bytes(), 2_MiB);  // kept alive by this process alone
        EXPECT_EQ(aclrtIpcMemClose(key.c_str()), ACL_SUCCESS);
        EXPECT_EQ(used_bytes(), 0u);
        channel.send(0);
      });
}

TEST(IpcKeys, StayWhenNothingWasFreed) {
  on_a_machine([] {
    void* block = nullptr;
    EXPECT_EQ(aclrtMalloc(&block, 4096, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    const std::string key = export_key(block);
    EXPECT_NE(aclrtFree(static_cast<char*>(block) + 64), ACL_SUCCESS);
    EXPECT_TRUE(is_live(key));
  });
}

// The newer driver ends the number with the handle; the older one keeps it while the memory lives.
void free_an_exported_handle(const char* product, aclError expected) {
  setenv("PLAT_PRODUCT", product, 1);
  on_two_processes(
      [](Channel& channel) {
        aclrtDrvMemHandle handle = allocate(2_MiB);
        void* va = nullptr;
        EXPECT_EQ(aclrtReserveMemAddress(&va, 2_MiB, 0, nullptr, 0), ACL_SUCCESS);
        EXPECT_EQ(aclrtMapMem(va, 2_MiB, 0, handle, 0), ACL_SUCCESS);
        uint64_t number = 0;
        EXPECT_EQ(aclrtMemExportToShareableHandle(handle, ACL_MEM_HANDLE_TYPE_NONE, 1, &number), ACL_SUCCESS);
        EXPECT_EQ(aclrtFreePhysical(handle), ACL_SUCCESS);
        EXPECT_EQ(aclrtMemExportToShareableHandle(handle, ACL_MEM_HANDLE_TYPE_NONE, 1, &number), 107017);
        channel.send(number);
        channel.receive();
      },
      [expected](Channel& channel) {
        aclrtDrvMemHandle handle = nullptr;
        EXPECT_EQ(aclrtMemImportFromShareableHandle(channel.receive(), 0, &handle), expected)
            << aclGetRecentErrMsg();
        channel.send(0);
      });
  unsetenv("PLAT_PRODUCT");
}

TEST(ShareableNumber, OutlivesTheHandleUnderTheOlderDriver) { free_an_exported_handle("a2", ACL_SUCCESS); }
TEST(ShareableNumber, EndsWithTheHandleUnderTheNewerDriver) { free_an_exported_handle("950", 107017); }

// Another user finds nothing: not the memory, not the key, not even who uses the device.
TEST(Sharing, IsWithinOneUser) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can become somebody else";
  on_two_processes(
      [](Channel& channel) {
        void* block = nullptr;
        EXPECT_EQ(aclrtMalloc(&block, 4_MiB, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
        channel.send_text(export_key(block, 1));
        channel.receive();
      },
      [](Channel& channel) {
        const std::string key = channel.receive_text();
        void* block = nullptr;
        size_t free_bytes = 0;
        size_t total_bytes = 0;
        EXPECT_NE(aclrtIpcMemImportByKey(&block, key.c_str(), 0), ACL_SUCCESS);
        EXPECT_EQ(aclrtGetMemInfo(ACL_HBM_MEM, &free_bytes, &total_bytes), ACL_SUCCESS);
        EXPECT_EQ(free_bytes, total_bytes);
        channel.send(0);
      },
      [] { EXPECT_EQ(setuid(65534), 0); });
}

int32_t peer_status(int32_t device, int32_t peer) {
  int32_t status = -1;
  EXPECT_EQ(aclrtDevicePeerAccessStatus(device, peer, &status), ACL_SUCCESS);
  return status;
}

// A process exports memory of device 0; this one imports it for device 1.
void import_on_device_1(const std::function<std::string()>& offer,
                        const std::function<void(std::string)>& take) {
  Peer test([&](Channel&) {
    const Machine machine;
    Peer exporter([&](Channel& channel) {
      EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
      channel.send_text(offer());
      channel.receive();
    });
    const std::string offered = exporter.channel().receive_text();
    EXPECT_EQ(aclrtSetDevice(1), ACL_SUCCESS);
    take(offered);
    exporter.channel().send(0);
    EXPECT_TRUE(exporter.join());
  });
  EXPECT_TRUE(test.join());
}

TEST(PeerAccess, ComesWithAKeyThatIsImportedForIt) {
  import_on_device_1(
      [] {
        void* block = nullptr;
        EXPECT_EQ(aclrtMalloc(&block, 4_MiB, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
        return export_key(block, 1);
      },
      [](const std::string& key) {
        void* block = nullptr;
        EXPECT_EQ(aclrtIpcMemImportByKey(&block, key.c_str(), 0), ACL_SUCCESS) << aclGetRecentErrMsg();
        EXPECT_EQ(peer_status(1, 0), 0);
        EXPECT_EQ(aclrtIpcMemImportByKey(&block, key.c_str(), 1), ACL_SUCCESS);
        EXPECT_EQ(peer_status(1, 0), 1);
        EXPECT_EQ(peer_status(0, 1), 0);
      });
}

TEST(PeerAccess, ComesWithAnImportedHandle) {
  import_on_device_1(
      [] {
        uint64_t number = 0;
        EXPECT_EQ(aclrtMemExportToShareableHandle(allocate(2_MiB), ACL_MEM_HANDLE_TYPE_NONE, 1, &number),
                  ACL_SUCCESS);
        return std::to_string(number);
      },
      [](const std::string& number) {
        EXPECT_EQ(peer_status(1, 0), 0);
        aclrtDrvMemHandle handle = nullptr;
        EXPECT_EQ(aclrtMemImportFromShareableHandle(std::stoull(number), 1, &handle), ACL_SUCCESS)
            << aclGetRecentErrMsg();
        EXPECT_EQ(peer_status(1, 0), 1);
        EXPECT_EQ(peer_status(0, 1), 0);
      });
}

}  // namespace
}  // namespace plat::test
