// SPDX-License-Identifier: Apache-2.0
// What becomes of a machine with pages of 64 KiB, as some of aarch64 have: this program is run with
// PLAT_PAGE_BYTES.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <set>

#include "acl/acl.h"
#include "os/page.h"

namespace plat {
namespace {

constexpr uint64_t kPage = 65536;

struct LargePages : testing::Test {
  LargePages() {
    EXPECT_EQ(os::page_bytes(), kPage);
    EXPECT_EQ(aclInit(nullptr), ACL_SUCCESS);
    EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  }
  ~LargePages() override { EXPECT_EQ(aclFinalize(), ACL_SUCCESS); }
};

TEST_F(LargePages, HostMemoryIsRegisteredFromTheStartOfOneOn) {
  auto* memory = static_cast<char*>(std::aligned_alloc(kPage, 2 * kPage));
  void* view = nullptr;
  EXPECT_NE(aclrtHostRegister(memory + 4096, 4096, ACL_HOST_REGISTER_MAPPED, &view), ACL_SUCCESS);
  EXPECT_EQ(view, nullptr);
  EXPECT_EQ(aclrtHostRegister(memory, 4096, ACL_HOST_REGISTER_MAPPED, &view), ACL_SUCCESS);
  EXPECT_EQ(aclrtHostRegister(memory + kPage, kPage, ACL_HOST_REGISTER_MAPPED, &view), ACL_SUCCESS);
  EXPECT_EQ(aclrtHostUnregister(memory), ACL_SUCCESS);
  EXPECT_EQ(aclrtHostUnregister(memory + kPage), ACL_SUCCESS);
  std::free(memory);
}

TEST_F(LargePages, PageLockedBlocksHaveTheirOwn) {
  std::set<uint64_t> pages;
  void* blocks[64];
  for (void*& block : blocks) {
    ASSERT_EQ(aclrtMallocHost(&block, 100), ACL_SUCCESS);
    const auto address = reinterpret_cast<uint64_t>(block);
    EXPECT_EQ(address % kPage, 0u);
    EXPECT_TRUE(pages.insert(address).second);
    std::memset(block, 7, 100);
  }
  for (void* block : blocks) EXPECT_EQ(aclrtFreeHost(block), ACL_SUCCESS);
}

TEST_F(LargePages, CopiesGoFromAnyAddressToAny) {
  void* device = nullptr;
  ASSERT_EQ(aclrtMalloc(&device, 3 * kPage, ACL_MEM_MALLOC_NORMAL_ONLY), ACL_SUCCESS);
  char there[5000], back[5000] = {};
  for (size_t i = 0; i < sizeof there; ++i) there[i] = static_cast<char>(i * 7);
  void* const middle = static_cast<char*>(device) + kPage - 1000;
  EXPECT_EQ(aclrtMemcpy(middle, sizeof there, there, sizeof there, ACL_MEMCPY_HOST_TO_DEVICE), ACL_SUCCESS);
  EXPECT_EQ(aclrtMemcpy(back, sizeof back, middle, sizeof back, ACL_MEMCPY_DEVICE_TO_HOST), ACL_SUCCESS);
  EXPECT_EQ(std::memcmp(there, back, sizeof back), 0);
  EXPECT_EQ(aclrtFree(device), ACL_SUCCESS);
}

}  // namespace
}  // namespace plat
