// SPDX-License-Identifier: Apache-2.0
// PLAT_CHECK=secondary: what pools register through mstx is held against the rules for segments.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "acl/acl.h"
#include "os/file.h"

#define MSTX_NO_IMPL
#include "plat/mstx_ext.h"

namespace plat {
namespace {

class RegionsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    ASSERT_EQ(aclrtMalloc(&block_, 4096, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
    mstxMemVirtualRangeDesc_t range{0, block_, 4096};
    mstxMemHeapDesc_t heap{MSTX_MEM_HEAP_USAGE_TYPE_SUB_ALLOCATOR, MSTX_MEM_TYPE_VIRTUAL_ADDRESS, &range};
    heap_ = mstxMemHeapRegister(nullptr, &heap);
    ASSERT_NE(heap_, nullptr) << "nobody listens";
  }
  void TearDown() override {
    mstxMemHeapUnregister(nullptr, heap_);
    EXPECT_EQ(aclrtFree(block_), ACL_SUCCESS);
    EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
  }

  // Registers regions (offset and size) at once, and returns the rules that they break, one to a line.
  std::string breaches(const std::vector<std::pair<size_t, uint64_t>>& regions) {
    unlink(std::getenv("PLAT_LOG_FILE"));
    std::vector<mstxMemVirtualRangeDesc_t> ranges;
    for (const auto& [offset, size] : regions)
      ranges.push_back({0, static_cast<char*>(block_) + offset, size});
    mstxMemRegionsRegisterBatch_t batch{};
    batch.heap = heap_;
    batch.regionCount = ranges.size();
    batch.regionDescArray = ranges.data();
    mstxMemRegionsRegister(nullptr, &batch);
    return said();
  }
  std::string said() {
    const std::string log = os::read_small_file(std::getenv("PLAT_LOG_FILE")).value_or("");
    std::string rules;
    constexpr std::string_view kKey = "\"rule\":\"";
    for (size_t at = log.find(kKey); at != std::string::npos; at = log.find(kKey, at)) {
      at += kKey.size();
      rules += log.substr(at, log.find('"', at) - at) + "\n";
    }
    return rules;
  }
  mstxMemRegionRef_t region_at(size_t offset) const {
    mstxMemRegionRef_t region{};
    region.refType = MSTX_MEM_REGION_REF_TYPE_POINTER;
    region.pointer = static_cast<char*>(block_) + offset;
    return region;
  }
  void take_back(size_t offset) {
    const mstxMemRegionRef_t region = region_at(offset);
    mstxMemRegionsUnregisterBatch_t batch{1, &region};
    mstxMemRegionsUnregister(nullptr, &batch);
  }

  void* block_ = nullptr;
  mstxMemHeapHandle_t heap_ = nullptr;
};

TEST_F(RegionsTest, SegmentsThatKeepTheirStrideAreFine) {
  EXPECT_EQ(breaches({{0, 1}, {64, 32}, {128, 33}, {256, 100}, {4032, 64}}), "");
}

TEST_F(RegionsTest, AStartThatIsNotAlignedIsSaid) { EXPECT_EQ(breaches({{32, 1}}), "MEM-Segment-start\n"); }

TEST_F(RegionsTest, PaddingThatReachesIntoANeighbourIsSaid) {
  EXPECT_EQ(breaches({{0, 33}, {64, 1}}), "MEM-Segment-room\n");     // the one before owns 96 bytes
  EXPECT_EQ(breaches({{256, 1}, {192, 33}}), "MEM-Segment-room\n");  // and so does the one behind it
}

TEST_F(RegionsTest, ARegionThatWasTakenBackIsNoNeighbour) {
  EXPECT_EQ(breaches({{0, 33}}), "");
  take_back(0);
  EXPECT_EQ(breaches({{64, 1}, {0, 1}}), "");
}

TEST_F(RegionsTest, ARegionKeepsItsPaddingInsideTheBlock) {
  EXPECT_EQ(breaches({{4032, 65}}), "MEM-Segment-room\n");
}

TEST_F(RegionsTest, ARegionThatGrowsIntoItsNeighbourIsSaid) {
  EXPECT_EQ(breaches({{0, 1}, {64, 1}}), "");
  const platMstxMemRegionSize_t size{region_at(0), 33};
  const platMstxMemRegionsResizeBatch_t batch{sizeof(batch), 1, &size};
  EXPECT_EQ(platMstxMemRegionsResize(nullptr, &batch), PLAT_MSTX_OK);
  EXPECT_EQ(said(), "MEM-Segment-room\n");
}

TEST_F(RegionsTest, HostBlocksAreCheckedWhenTheyAreCut) {
  char* host = nullptr;
  ASSERT_EQ(aclrtMallocHost(reinterpret_cast<void**>(&host), 256), ACL_SUCCESS);
  const auto copy = [&](size_t offset, size_t size) {
    return aclrtMemcpy(host + offset, size, block_, size, ACL_MEMCPY_DEVICE_TO_HOST);
  };
  EXPECT_EQ(copy(0, 256), ACL_SUCCESS);  // the block itself, which is no segment
  EXPECT_EQ(copy(64, 160), ACL_SUCCESS);
  EXPECT_NE(copy(32, 32), ACL_SUCCESS);
  EXPECT_EQ(std::string(aclGetRecentErrMsg()).rfind("MEM-Segment-start", 0), 0u) << aclGetRecentErrMsg();
  EXPECT_NE(copy(64, 161), ACL_SUCCESS);
  EXPECT_EQ(std::string(aclGetRecentErrMsg()).rfind("MEM-Segment-room", 0), 0u) << aclGetRecentErrMsg();
  EXPECT_EQ(aclrtFreeHost(host), ACL_SUCCESS);
}

TEST_F(RegionsTest, CopiesAreCheckedToo) {
  char host[64] = {};
  EXPECT_NE(aclrtMemcpy(static_cast<char*>(block_) + 1, 64, host, 64, ACL_MEMCPY_HOST_TO_DEVICE),
            ACL_SUCCESS);
  EXPECT_EQ(std::string(aclGetRecentErrMsg()).rfind("MEM-Segment-start", 0), 0u) << aclGetRecentErrMsg();
}

}  // namespace
}  // namespace plat
