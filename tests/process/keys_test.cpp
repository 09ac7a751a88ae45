// IPC keys and imports, at the calls: whichever call frees a block ends its keys, and imports let devices
// meet.
#include <gtest/gtest.h>

#include <functional>
#include <string>

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

void in_child(const std::function<void()>& body) {
  Peer child([&](Channel&) {
    const Machine machine;
    EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    body();
  });
  EXPECT_TRUE(child.join());
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

TEST(IpcKeysOfFreedBlocks, EndWithBlocksOfAPool) {
  in_child([] {
    aclrtStream stream = nullptr;
    EXPECT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
    void* block = pool_block(stream);
    const std::string at_once = export_key(block);
    EXPECT_TRUE(is_live(at_once));
    EXPECT_EQ(aclrtFree(block), ACL_SUCCESS);
    EXPECT_FALSE(is_live(at_once));
  });
}

TEST(IpcKeysOfFreedBlocks, EndInStreamOrderWhereTheFreeDoes) {
  in_child([] {
    aclrtStream stream = nullptr;
    aclrtEvent awaited = nullptr;
    EXPECT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
    EXPECT_EQ(aclrtCreateEventWithFlag(&awaited, ACL_EVENT_SYNC), ACL_SUCCESS);
    void* const in_pool = pool_block(stream);
    void* in_heap = nullptr;
    EXPECT_EQ(aclrtMalloc(&in_heap, 4096, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    const std::string pool_key = export_key(in_pool);
    const std::string heap_key = export_key(in_heap);
    EXPECT_EQ(aclrtStreamWaitEvent(stream, awaited), ACL_SUCCESS);
    EXPECT_EQ(aclrtMemPoolFreeAsync(in_pool, stream), ACL_SUCCESS);
    EXPECT_EQ(aclrtMemPoolFreeAsync(in_heap, stream), ACL_SUCCESS);
    EXPECT_EQ(aclrtMemPoolFreeAsync(in_heap, stream), ACL_ERROR_RT_PARAM_INVALID);
    EXPECT_TRUE(is_live(pool_key));
    EXPECT_TRUE(is_live(heap_key));
    EXPECT_EQ(aclrtRecordEvent(awaited, nullptr), ACL_SUCCESS);
    EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
    EXPECT_FALSE(is_live(pool_key));
    EXPECT_FALSE(is_live(heap_key));
  });
}

TEST(IpcKeysOfFreedBlocks, EndWithMediaBlocks) {
  in_child([] {
    void* block = nullptr;
    EXPECT_EQ(acldvppMalloc(&block, 4096), ACL_SUCCESS);
    const std::string key = export_key(block);
    EXPECT_EQ(acldvppFree(block), ACL_SUCCESS);
    EXPECT_FALSE(is_live(key));
  });
}

TEST(IpcKeysOfFreedBlocks, StayWhenNothingWasFreed) {
  in_child([] {
    void* block = nullptr;
    EXPECT_EQ(aclrtMalloc(&block, 4096, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    const std::string key = export_key(block);
    EXPECT_NE(aclrtFree(static_cast<char*>(block) + 64), ACL_SUCCESS);
    EXPECT_TRUE(is_live(key));
  });
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
