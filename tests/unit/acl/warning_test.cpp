// SPDX-License-Identifier: Apache-2.0
// What is only a warning says which call it is about, also when a thread of a stream gives it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "acl/acl.h"
#include "os/file.h"

namespace plat {
namespace {

TEST(Warning, OfAQueuedCopyNamesTheCallThatQueuedIt) {
  unlink(std::getenv("PLAT_LOG_FILE"));  // of an earlier run
  void* near = nullptr;
  void* far = nullptr;
  aclrtStream stream = nullptr;
  ASSERT_EQ(aclrtSetDevice(1), ACL_SUCCESS);
  ASSERT_EQ(aclrtMalloc(&far, 4096, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  ASSERT_EQ(aclrtMalloc(&near, 4096, ACL_MEM_MALLOC_HUGE_FIRST), ACL_SUCCESS);
  ASSERT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
  ASSERT_EQ(aclrtMemcpyAsync(far, 64, near, 64, ACL_MEMCPY_DEVICE_TO_DEVICE, stream), ACL_SUCCESS);
  ASSERT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  const std::string log = os::read_small_file(std::getenv("PLAT_LOG_FILE")).value_or("");
  EXPECT_NE(log.find("plat warning: COPY-Peer-access aclrtMemcpyAsync(dst): from device 0 to device 1"),
            std::string::npos)
      << log;
}

}  // namespace
}  // namespace plat
