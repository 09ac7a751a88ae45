// SPDX-License-Identifier: Apache-2.0
// Callbacks and options of the process: every rule broken and kept.
#include <string>
#include <thread>

#include "rules/stream_fixture.h"

namespace plat::rule_test {
namespace {

std::string g_told;
aclError on_start(const char* config, size_t length, void* result) {
  g_told += "start(" + std::string(config, length) + ")";
  return result == nullptr ? 0 : *static_cast<aclError*>(result);
}
aclError on_end(void* result) {
  g_told += "end";
  return result == nullptr ? 0 : *static_cast<aclError*>(result);
}

RULE_BROKEN(StartCallback) {
  EXPECT_OK(aclInitCallbackRegister(ACL_REG_TYPE_ACL_DVPP, on_start, nullptr));
  EXPECT_BREAKS(aclInitCallbackRegister(ACL_REG_TYPE_ACL_DVPP, on_start, nullptr));
  EXPECT_BREAKS(aclInitCallbackUnRegister(ACL_REG_TYPE_OTHER, on_start));
  EXPECT_BREAKS(aclFinalizeCallbackUnRegister(ACL_REG_TYPE_ACL_DVPP, on_end));
  EXPECT_OK(aclInitCallbackUnRegister(ACL_REG_TYPE_ACL_DVPP, on_start));
  EXPECT_BREAKS(aclInitCallbackUnRegister(ACL_REG_TYPE_ACL_DVPP, on_start));
  EXPECT_EQ(aclInitCallbackRegister(ACL_REG_TYPE_OTHER, nullptr, nullptr), 100000);
  EXPECT_EQ(aclInitCallbackUnRegister(ACL_REG_TYPE_OTHER, nullptr), 100000);
  EXPECT_EQ(aclFinalizeCallbackRegister(ACL_REG_TYPE_OTHER, nullptr, nullptr), 100000);
  EXPECT_EQ(aclFinalizeCallbackUnRegister(ACL_REG_TYPE_OTHER, nullptr), 100000);
}
RULE_KEPT(StartCallback) {
  EXPECT_OK(aclInitCallbackRegister(ACL_REG_TYPE_OTHER, on_start, nullptr));
  EXPECT_OK(aclInitCallbackRegister(ACL_REG_TYPE_OTHER, on_start, nullptr));
  EXPECT_OK(aclInitCallbackRegister(static_cast<aclRegisterCallbackType>(77), on_start, nullptr));
  EXPECT_OK(aclFinalizeCallbackRegister(ACL_REG_TYPE_ACL_DVPP, on_end, nullptr));
  EXPECT_EQ(g_told, "");
  EXPECT_OK(aclInit(PLAT_SOURCE "/tests/rules/home/acl.json"));
  EXPECT_EQ(g_told, "start({}\n)start({}\n)start({}\n)");
  EXPECT_EQ(aclInit(nullptr), 100002);  // counted, and nobody is told again
  g_told.clear();
  aclError refuses = 9;  // a result that comes late counts for nothing
  EXPECT_OK(aclInitCallbackRegister(ACL_REG_TYPE_ACL_RETR, on_start, &refuses));
  EXPECT_EQ(g_told, "start({}\n)");
  g_told.clear();
  uint64_t left = 9;
  EXPECT_OK(aclFinalizeReference(&left));
  EXPECT_EQ(g_told, "");
  EXPECT_OK(aclFinalizeReference(&left));
  EXPECT_EQ(g_told, "end");
  EXPECT_OK(aclInitCallbackUnRegister(ACL_REG_TYPE_ACL_RETR, on_start));
  g_told.clear();
  EXPECT_OK(aclInit(nullptr));
  EXPECT_EQ(g_told, "start()start()start()");
}

RULE_BROKEN(StartCallbackFailed) {
  aclError result = 345678;
  EXPECT_OK(aclInitCallbackRegister(ACL_REG_TYPE_OTHER, on_start, &result));
  EXPECT_EQ(aclInit(nullptr), 345678);
  EXPECT_NE(std::string(aclGetRecentErrMsg()).find("ACL-Callback-failed"), std::string::npos);
  EXPECT_EQ(aclInit(nullptr), 345678);  // it has not started
  result = 0;
  EXPECT_OK(aclInit(nullptr));
  aclError end = 12;
  EXPECT_OK(aclFinalizeCallbackRegister(ACL_REG_TYPE_OTHER, on_end, &end));
  EXPECT_EQ(aclFinalize(), 12);
  EXPECT_EQ(aclFinalizeReference(nullptr), 12);
  EXPECT_OK(aclrtSetDevice(0));  // and has not ended
  end = 0;
  EXPECT_OK(aclFinalize());
  // The code is the callback's own, but the message cites the rule.
  result = 500000;
  EXPECT_BREAKS(aclInit(nullptr));
}
RULE_KEPT(StartCallbackFailed) {
  EXPECT_OK(aclInitCallbackRegister(ACL_REG_TYPE_OTHER, on_start, nullptr));
  EXPECT_OK(aclInit(nullptr));
  EXPECT_OK(aclFinalize());
}

RULE_BROKEN(OptionValue) {
  EXPECT_BREAKS(aclrtSetSysParamOpt(ACL_OPT_DETERMINISTIC, 4));
  EXPECT_BREAKS(aclrtSetSysParamOpt(ACL_OPT_DETERMINISTIC, -1));
  EXPECT_BREAKS(aclrtSetSysParamOpt(ACL_OPT_ENABLE_KERNEL_EARLY_START, 2));
  EXPECT_BREAKS(aclrtCtxSetSysParamOpt(ACL_OPT_STRONG_CONSISTENCY, 2));  // before the context is looked at
  EXPECT_EQ(aclrtSetSysParamOpt(static_cast<aclSysParamOpt>(4), 0), 100000);
  EXPECT_EQ(aclrtCtxSetSysParamOpt(ACL_OPT_ENABLE_KERNEL_EARLY_START, 9), 100000);
  EXPECT_EQ(aclrtCtxSetSysParamOpt(ACL_OPT_STRONG_CONSISTENCY, 1), 107002);
  int64_t value = 0;
  EXPECT_EQ(aclrtGetSysParamOpt(static_cast<aclSysParamOpt>(-1), &value), 100000);
  EXPECT_EQ(aclrtGetSysParamOpt(ACL_OPT_DETERMINISTIC, nullptr), 100000);
  EXPECT_EQ(aclrtCtxGetSysParamOpt(ACL_OPT_DETERMINISTIC, &value), 107002);
}
RULE_KEPT(OptionValue) {
  int64_t value = 9;
  EXPECT_OK(aclrtGetSysParamOpt(ACL_OPT_ENABLE_KERNEL_EARLY_START, &value));
  EXPECT_EQ(value, 0);
  EXPECT_OK(aclrtSetSysParamOpt(ACL_OPT_DETERMINISTIC, 3));
  EXPECT_OK(aclrtGetSysParamOpt(ACL_OPT_DETERMINISTIC, &value));
  EXPECT_EQ(value, 3);
}

RULE_BROKEN(OptionUnset) {
  Device device;
  int64_t value = 9;
  EXPECT_OK(aclrtSetSysParamOpt(ACL_OPT_DETERMINISTIC, 1));
  EXPECT_BREAKS(aclrtCtxGetSysParamOpt(ACL_OPT_DETERMINISTIC, &value));
  EXPECT_EQ(value, 9);
  EXPECT_OK(aclrtCtxSetSysParamOpt(ACL_OPT_DETERMINISTIC, 1));
  aclrtContext context = nullptr;
  EXPECT_OK(aclrtCreateContext(&context, 0));
  EXPECT_BREAKS(aclrtCtxGetSysParamOpt(ACL_OPT_DETERMINISTIC, &value));
}
RULE_KEPT(OptionUnset) {
  Device device;
  int64_t value = 9;
  EXPECT_OK(aclrtCtxSetSysParamOpt(ACL_OPT_DETERMINISTIC, 0));
  EXPECT_OK(aclrtCtxGetSysParamOpt(ACL_OPT_DETERMINISTIC, &value));
  EXPECT_EQ(value, 0);
}

}  // namespace
}  // namespace plat::rule_test
