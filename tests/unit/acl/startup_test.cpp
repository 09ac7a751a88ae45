// SPDX-License-Identifier: Apache-2.0
// What clients call at start-up: versions, the log, and choices that nothing is behind.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>

#include "acl/acl.h"
#include "os/file.h"

namespace plat {
namespace {

std::string log_text() { return os::read_small_file(std::getenv("PLAT_LOG_FILE")).value_or(""); }

// What the log says from now on.
class Startup : public ::testing::Test {
 protected:
  Startup() { unlink(std::getenv("PLAT_LOG_FILE")); }
};

TEST_F(Startup, VersionIsThatOfTheHeaders) {
  int32_t major = 0, minor = 0, patch = -1;
  ASSERT_EQ(aclrtGetVersion(&major, &minor, &patch), ACL_SUCCESS);
  EXPECT_EQ(major, ACL_MAJOR_VERSION);
  EXPECT_EQ(minor, ACL_MINOR_VERSION);
  EXPECT_EQ(patch, ACL_PATCH_VERSION);
  EXPECT_EQ(aclrtGetVersion(nullptr, &minor, &patch), ACL_ERROR_INVALID_PARAM);
}

TEST_F(Startup, TextAndNumberOfAPackageAgree) {
  char package[] = "runtime";
  char text[ACL_PKG_VERSION_MAX_SIZE];
  std::memset(text, 'x', sizeof text);
  int32_t number = 0;
  ASSERT_EQ(aclsysGetVersionStr(package, text), ACL_SUCCESS);
  ASSERT_EQ(aclsysGetVersionNum(package, &number), ACL_SUCCESS);
  int major = 0, minor = 0, patch = 0, end = 0;
  ASSERT_EQ(std::sscanf(text, "%d.%d.%d%n", &major, &minor, &patch, &end), 3) << text;
  EXPECT_EQ(text[end], 0) << "clients take the text for a number: " << text;
  EXPECT_EQ(number, major * 10000000 + minor * 100000 + patch * 1000);
}

TEST_F(Startup, TheSoftwareDeviceSaysWhatItIs) {
  char package[] = "plat";
  char text[ACL_PKG_VERSION_MAX_SIZE] = {};
  ASSERT_EQ(aclsysGetVersionStr(package, text), ACL_SUCCESS);
  EXPECT_NE(std::string(text).find("software device"), std::string::npos) << text;
}

TEST_F(Startup, TheApplicationsLinesAreLogged) {
  const std::string long_text(5000, 'y');
  ACL_APP_LOG(ACL_ERROR, "device %d has %s", 3, "no memory");
  ACL_APP_LOG(ACL_DEBUG, "%s", long_text.c_str());
  aclAppLog(ACL_WARNING, nullptr, nullptr, 7, nullptr);
  const std::string log = log_text();
  EXPECT_NE(log.find("app error: " __FILE__), std::string::npos) << log;
  EXPECT_NE(log.find("TestBody: device 3 has no memory\n"), std::string::npos) << log;
  EXPECT_NE(log.find(long_text + "\n"), std::string::npos);
  EXPECT_NE(log.find("app warning: :7"), std::string::npos) << log;
}

TEST_F(Startup, OverflowModeIsKeptForTheDevice) {
  aclrtFloatOverflowMode mode = ACL_RT_OVERFLOW_MODE_UNDEF;
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  ASSERT_EQ(aclrtGetDeviceSatMode(&mode), ACL_SUCCESS);
  EXPECT_EQ(mode, ACL_RT_OVERFLOW_MODE_SATURATION);
  ASSERT_EQ(aclrtSetDeviceSatMode(ACL_RT_OVERFLOW_MODE_INFNAN), ACL_SUCCESS);
  EXPECT_EQ(aclrtSetDeviceSatMode(ACL_RT_OVERFLOW_MODE_UNDEF), ACL_ERROR_INVALID_PARAM);
  ASSERT_EQ(aclrtSetDevice(1), ACL_SUCCESS);
  ASSERT_EQ(aclrtGetDeviceSatMode(&mode), ACL_SUCCESS);
  EXPECT_EQ(mode, ACL_RT_OVERFLOW_MODE_SATURATION);
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  ASSERT_EQ(aclrtGetDeviceSatMode(&mode), ACL_SUCCESS);
  EXPECT_EQ(mode, ACL_RT_OVERFLOW_MODE_INFNAN);
  for (const int32_t device : {0, 0, 1}) EXPECT_EQ(aclrtResetDevice(device), ACL_SUCCESS);
  EXPECT_EQ(aclrtSetDeviceSatMode(ACL_RT_OVERFLOW_MODE_SATURATION), ACL_ERROR_RT_CONTEXT_NULL);
}

TEST_F(Startup, TheLogSaysWhatIsWithoutEffect) {
  EXPECT_EQ(aclrtSetOpExecuteTimeOut(30), ACL_SUCCESS);
  EXPECT_NE(log_text().find("aclrtSetOpExecuteTimeOut is accepted without effect"), std::string::npos)
      << log_text();
}

}  // namespace
}  // namespace plat
