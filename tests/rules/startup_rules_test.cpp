// SPDX-License-Identifier: Apache-2.0
// Versions, profiling and dump: every rule broken and kept.
#include <cstring>

#include "acl/acl_prof.h"
#include "rules/rule_test.h"

namespace plat::rule_test {
namespace {

// A folder that is there.
constexpr const char* kPath = "/tmp";

// aclsysGetVersionStr of this package.
aclError version_of(const char* package) {
  char name[32] = {};
  std::strncpy(name, package, sizeof name - 1);
  char text[ACL_PKG_VERSION_MAX_SIZE] = {};
  return aclsysGetVersionStr(name, text);
}

// aclprofInit with a folder that is there.
aclError begin_profiling() { return aclprofInit(kPath, std::strlen(kPath)); }

// What aclprofCreateConfig makes for these devices.
aclprofConfig* config_of(std::vector<uint32_t> devices, uint64_t data = ACL_PROF_ACL_API) {
  return aclprofCreateConfig(devices.data(), static_cast<uint32_t>(devices.size()), ACL_AICORE_NONE, nullptr,
                             data);
}

RULE_BROKEN(VersionPackage) {
  EXPECT_BREAKS(version_of("driver"));
  char name[] = "opp";
  int32_t number = 0;
  EXPECT_BREAKS(aclsysGetVersionNum(name, &number));
}
RULE_KEPT(VersionPackage) {
  EXPECT_OK(version_of("runtime"));
  EXPECT_OK(version_of("plat"));
}

RULE_BROKEN(DumpOnce) {
  EXPECT_OK(aclmdlInitDump());
  EXPECT_BREAKS(aclmdlInitDump());
}
RULE_KEPT(DumpOnce) {
  EXPECT_OK(aclmdlInitDump());
  EXPECT_OK(aclmdlFinalizeDump());
  EXPECT_OK(aclmdlInitDump());
}

RULE_BROKEN(DumpBegun) {
  EXPECT_BREAKS(aclmdlSetDump("/proc/self/status"));
  EXPECT_BREAKS(aclmdlFinalizeDump());
  EXPECT_OK(aclmdlInitDump());
  EXPECT_OK(aclmdlFinalizeDump());
  EXPECT_BREAKS(aclmdlFinalizeDump());
}
RULE_KEPT(DumpBegun) {
  EXPECT_OK(aclmdlInitDump());
  EXPECT_OK(aclmdlSetDump("/proc/self/status"));
  EXPECT_OK(aclmdlFinalizeDump());
}

RULE_BROKEN(DumpFile) {
  EXPECT_OK(aclmdlInitDump());
  EXPECT_BREAKS(aclmdlSetDump("/no/such/file.json"));
}
RULE_KEPT(DumpFile) {
  EXPECT_OK(aclmdlInitDump());
  EXPECT_OK(aclmdlSetDump("/proc/self/status"));
}

RULE_BROKEN(ProfOnce) {
  EXPECT_OK(begin_profiling());
  EXPECT_BREAKS(begin_profiling());
}
RULE_KEPT(ProfOnce) {
  EXPECT_OK(begin_profiling());
  EXPECT_OK(aclprofFinalize());
  EXPECT_OK(begin_profiling());
}

RULE_BROKEN(ProfBegun) {
  aclprofConfig* config = config_of({0});
  ASSERT_NE(config, nullptr);
  EXPECT_BREAKS(aclprofStart(config));
  EXPECT_BREAKS(aclprofStop(config));
  EXPECT_BREAKS(aclprofFinalize());
}
RULE_KEPT(ProfBegun) {
  aclprofConfig* config = config_of({0});
  EXPECT_OK(begin_profiling());
  EXPECT_OK(aclprofStart(config));
  EXPECT_OK(aclprofStop(config));
  EXPECT_OK(aclprofDestroyConfig(config));
  EXPECT_OK(aclprofFinalize());
}

RULE_BROKEN(ProfPath) {
  EXPECT_BREAKS(aclprofInit(kPath, 0));
  EXPECT_BREAKS(aclprofInit(kPath, std::strlen(kPath) + 1));
  EXPECT_BREAKS(aclprofInit(kPath, 2));
}
RULE_KEPT(ProfPath) { EXPECT_OK(begin_profiling()); }

RULE_BROKEN(ProfConfig) {
  EXPECT_EQ(config_of({0, 7}), nullptr);  // the machine has two devices
  EXPECT_EQ(config_of({1, 1}), nullptr);
  aclprofConfig* config = config_of({0, 1});
  EXPECT_OK(begin_profiling());
  EXPECT_OK(aclprofDestroyConfig(config));
  EXPECT_BREAKS(aclprofDestroyConfig(config));
  EXPECT_BREAKS(aclprofStart(config));
  EXPECT_OK(aclrtSetDevice(0));
  aclprofStepInfo* steps = aclprofCreateStepInfo();
  aclprofDestroyStepInfo(steps);
  aclprofDestroyStepInfo(steps);
  EXPECT_BREAKS(aclprofGetStepTimestamp(steps, ACL_STEP_START, nullptr));
}
RULE_KEPT(ProfConfig) {
  aclprofConfig* host = aclprofCreateConfig(nullptr, 0, ACL_AICORE_NONE, nullptr, ACL_PROF_MSPROFTX);
  ASSERT_NE(host, nullptr);
  EXPECT_OK(aclprofDestroyConfig(host));
  EXPECT_OK(aclrtSetDevice(0));
  aclprofStepInfo* steps = aclprofCreateStepInfo();
  EXPECT_OK(aclprofGetStepTimestamp(steps, ACL_STEP_START, nullptr));
  EXPECT_OK(aclprofGetStepTimestamp(steps, ACL_STEP_END, nullptr));
  EXPECT_EQ(aclprofGetStepTimestamp(steps, static_cast<aclprofStepTag>(9), nullptr), ACL_ERROR_INVALID_PARAM);
  aclprofDestroyStepInfo(steps);
}

}  // namespace
}  // namespace plat::rule_test
