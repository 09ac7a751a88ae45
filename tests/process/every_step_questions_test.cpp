// SPDX-License-Identifier: Apache-2.0
// A fault at every step of calls that ask, or set something: whatever fails, the same call then succeeds, and
// all that was there before is there, and can be taken down.
#include <unistd.h>

#include <array>

#include "acl/acl_rt_fault.h"
#include "acl/acl_rt_memory_soma.h"
#include "base/units.h"
#include "process/every_step.h"

namespace plat::test {
namespace {

// With those of every_step.h, one of each thing, for questions about it.
void* pinned = nullptr;
void* managed = nullptr;
void* mapped = nullptr;
aclrtEvent timed = nullptr;
aclrtContext context = nullptr;
aclrtMemPool pool = nullptr;
std::array<char, 65> key{};

// Where answers go.
int32_t number = 0;
uint32_t count = 0;
int64_t large = 0;
uint64_t flags = 0;
size_t size = 0;
std::array<char, 128> text{};

// Not all products have managed memory, and notifies between processes.
bool has_more() { return std::getenv("PLAT_PRODUCT") == nullptr; }

void make_world() {
  EXPECT_DONE(aclrtMalloc(&block, 2_MiB, ACL_MEM_MALLOC_HUGE_FIRST));
  EXPECT_DONE(aclrtIpcMemGetExportKey(block, 2_MiB, key.data(), key.size(), 0));
  EXPECT_DONE(aclrtMallocHost(&pinned, 4096));
  if (has_more()) {
    EXPECT_DONE(aclrtMemAllocManaged(&managed, 2_MiB, 1));
  }
  EXPECT_DONE(aclrtCreateStream(&stream));
  EXPECT_DONE(aclrtCreateEventWithFlag(&event, ACL_EVENT_SYNC | ACL_EVENT_TIME_LINE));
  EXPECT_DONE(aclrtCreateEventWithFlag(&timed, ACL_EVENT_SYNC | ACL_EVENT_TIME_LINE));
  EXPECT_DONE(aclrtRecordEvent(event, stream));
  EXPECT_DONE(aclrtRecordEvent(timed, stream));
  EXPECT_DONE(aclrtSynchronizeStream(stream));
  EXPECT_DONE(aclrtCreateNotify(&notify, 0));
  if (has_more()) {
    EXPECT_DONE(aclrtNotifyGetExportKey(notify, text.data(), key.size(), 0));
  }
  EXPECT_DONE(aclrtGetCurrentContext(&context));
  aclrtMemPoolProps props{};
  props.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
  EXPECT_DONE(aclrtMemPoolCreate(&pool, &props));
  handle = allocate(2_MiB);
  EXPECT_DONE(aclrtReserveMemAddress(&mapped, 2_MiB, 0, nullptr, 0));
  EXPECT_DONE(aclrtMapMem(mapped, 2_MiB, 0, handle, 0));
}
void end_world() {
  EXPECT_DONE(aclrtSynchronizeStream(stream));
  EXPECT_DONE(aclrtUnmapMem(mapped));
  EXPECT_DONE(aclrtReleaseMemAddress(mapped));
  EXPECT_DONE(aclrtFreePhysical(handle));
  EXPECT_DONE(aclrtMemPoolDestroy(pool));
  EXPECT_DONE(aclrtDestroyNotify(notify));
  EXPECT_DONE(aclrtDestroyEvent(timed));
  EXPECT_DONE(aclrtDestroyEvent(event));
  EXPECT_DONE(aclrtDestroyStream(stream));
  if (has_more()) {
    EXPECT_DONE(aclrtFree(managed));
  }
  EXPECT_DONE(aclrtFreeHost(pinned));
  EXPECT_DONE(aclrtIpcMemClose(key.data()));
  EXPECT_DONE(aclrtFree(block));
}

aclrtMemManagedLocation on_device() {
  aclrtMemManagedLocation location{};
  location.type = ACL_MEM_LOCATIONTYPE_DEVICE;
  return location;
}
// Room for an answer of any kind.
template <class T>
T& to() {
  static T answer;
  return answer;
}
std::array<char, 8> package{"runtime"};
int32_t one = 1;
aclError get_managed() {
  return aclrtMemManagedGetAttr(ACL_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, managed, 2_MiB, &number, sizeof number);
}

aclError get_managed_attributes() {
  aclrtMemManagedRangeAttribute which[] = {ACL_MEM_RANGE_ATTRIBUTE_READ_MOSTLY,
                                           ACL_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION};
  void* answers[] = {&number, &count};
  size_t sizes[] = {sizeof number, sizeof count};
  return aclrtMemManagedGetAttrs(which, 2, managed, 2_MiB, answers, sizes);
}

aclError get_granularity() {
  aclrtPhysicalMemProp prop{};
  prop.memAttr = ACL_HBM_MEM_HUGE;
  prop.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
  return aclrtMemGetAllocationGranularity(&prop, ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM, &size);
}

struct Question {
  const char* name;
  std::function<aclError()> ask;
  const char* product = nullptr;  // where not all have the call
};

std::vector<Question> questions() {
  return {
      {"aclrtGetSocName", [] { return aclrtGetSocName() != nullptr ? ACL_SUCCESS : kNothing; }},
      {"aclrtGetDevice", [] { return aclrtGetDevice(&number); }},
      {"aclrtGetDeviceCount", [] { return aclrtGetDeviceCount(&count); }},
      {"aclrtGetRunMode", [] { return aclrtGetRunMode(&to<aclrtRunMode>()); }},
      {"aclrtSynchronizeDevice", [] { return aclrtSynchronizeDevice(); }},
      {"aclrtSynchronizeDeviceWithTimeout", [] { return aclrtSynchronizeDeviceWithTimeout(10000); }},
      {"aclrtSynchronizeStreamWithTimeout", [] { return aclrtSynchronizeStreamWithTimeout(stream, 10000); }},
      {"aclrtSynchronizeEvent", [] { return aclrtSynchronizeEvent(event); }},
      {"aclrtSynchronizeEventWithTimeout", [] { return aclrtSynchronizeEventWithTimeout(event, 10000); }},
      {"aclrtDeviceCanAccessPeer", [] { return aclrtDeviceCanAccessPeer(&number, 0, 1); }},
      {"aclrtDevicePeerAccessStatus", [] { return aclrtDevicePeerAccessStatus(0, 1, &number); }},
      {"aclrtDeviceGetBareTgid", [] { return aclrtDeviceGetBareTgid(&number); }},
      {"aclrtSetDeviceSatMode", [] { return aclrtSetDeviceSatMode(ACL_RT_OVERFLOW_MODE_SATURATION); }},
      {"aclrtGetDeviceSatMode", [] { return aclrtGetDeviceSatMode(&to<aclrtFloatOverflowMode>()); }},
      {"aclrtSetOpExecuteTimeOut", [] { return aclrtSetOpExecuteTimeOut(60); }},
      {"aclrtSetOpWaitTimeout", [] { return aclrtSetOpWaitTimeout(60); }},
      {"aclrtGetLogicDevIdByUserDevId", [] { return aclrtGetLogicDevIdByUserDevId(0, &number); }},
      {"aclrtGetUserDevIdByLogicDevId", [] { return aclrtGetUserDevIdByLogicDevId(0, &number); }},
      {"aclrtGetLogicDevIdByPhyDevId", [] { return aclrtGetLogicDevIdByPhyDevId(0, &number); }},
      {"aclrtGetPhyDevIdByLogicDevId", [] { return aclrtGetPhyDevIdByLogicDevId(0, &number); }},
      {"aclrtGetUserDevIdByPhyDevId", [] { return aclrtGetUserDevIdByPhyDevId(0, &number); }},
      {"aclrtGetPhyDevIdByUserDevId", [] { return aclrtGetPhyDevIdByUserDevId(0, &number); }},
      {"aclrtDeviceGetUuid", [] { return aclrtDeviceGetUuid(0, &to<aclrtUuid>()); }},
      {"aclrtDeviceGetPCIBusId",
       [] { return aclrtDeviceGetPCIBusId(0, text.data(), static_cast<int32_t>(text.size())); }},
      {"aclrtDeviceGetByPCIBusId",
       [] {
         return aclrtDeviceGetPCIBusId(0, text.data(), 64) == ACL_SUCCESS
                    ? aclrtDeviceGetByPCIBusId(text.data(), &number)
                    : kNothing;
       }},
      {"aclrtGetDevicesTopo", [] { return aclrtGetDevicesTopo(0, 0, &flags); }, "a3"},
      {"aclrtGetDeviceInfo",
       [] { return aclrtGetDeviceInfo(0, ACL_DEV_ATTR_TOTAL_GLOBAL_MEM_SIZE, &large); }},
      {"aclrtGetDeviceCapability",
       [] { return aclrtGetDeviceCapability(0, ACL_FEATURE_SYSTEM_MEMQ_EVENT_CROSS_DEV, &number); }},
      {"aclGetDeviceCapability",
       [] { return aclGetDeviceCapability(0, ACL_DEVICE_INFO_AI_CORE_NUM, &large); }},
      {"aclGetCannAttributeList", [] { return aclGetCannAttributeList(&to<const aclCannAttr*>(), &size); }},
      {"aclGetCannAttribute", [] { return aclGetCannAttribute(ACL_CANN_ATTR_BF16, &number); }},
      {"aclsysGetCANNVersion",
       [] { return aclsysGetCANNVersion(ACL_PKG_NAME_RUNTIME, &to<aclCANNPackageVersion>()); }},
      {"aclsysGetVersionStr", [] { return aclsysGetVersionStr(package.data(), text.data()); }},
      {"aclsysGetVersionNum", [] { return aclsysGetVersionNum(package.data(), &number); }},
      {"aclrtGetVersion", [] { return aclrtGetVersion(&number, &number, &number); }},
      {"aclrtDeviceGetLimit", [] { return aclrtDeviceGetLimit(ACL_RT_DEV_LIMIT_SIMD_STACK_SIZE, &size); },
       "950"},
      {"aclrtDeviceSetLimit", [] { return aclrtDeviceSetLimit(ACL_RT_DEV_LIMIT_SIMD_STACK_SIZE, 32768); },
       "950"},
      {"aclrtGetDeviceResLimit", [] { return aclrtGetDeviceResLimit(0, ACL_RT_DEV_RES_CUBE_CORE, &count); }},
      {"aclrtSetDeviceResLimit", [] { return aclrtSetDeviceResLimit(0, ACL_RT_DEV_RES_CUBE_CORE, 1); }},
      {"aclrtResetDeviceResLimit", [] { return aclrtResetDeviceResLimit(0); }},
      {"aclrtGetStreamResLimit",
       [] { return aclrtGetStreamResLimit(stream, ACL_RT_DEV_RES_CUBE_CORE, &count); }},
      {"aclrtSetStreamResLimit", [] { return aclrtSetStreamResLimit(stream, ACL_RT_DEV_RES_CUBE_CORE, 1); }},
      {"aclrtResetStreamResLimit", [] { return aclrtResetStreamResLimit(stream); }},
      {"aclrtUseStreamResInCurrentThread", [] { return aclrtUseStreamResInCurrentThread(stream); }},
      {"aclrtUnuseStreamResInCurrentThread", [] { return aclrtUnuseStreamResInCurrentThread(stream); }},
      {"aclrtGetResInCurrentThread",
       [] { return aclrtGetResInCurrentThread(ACL_RT_DEV_RES_CUBE_CORE, &count); }},
      {"aclrtQueryDeviceStatus", [] { return aclrtQueryDeviceStatus(0, &to<aclrtDeviceStatus>()); }},
      {"aclrtGetDeviceUtilizationRate",
       [] { return aclrtGetDeviceUtilizationRate(0, &to<aclrtUtilizationInfo>()); }},
      {"aclrtSetTsDevice", [] { return aclrtSetTsDevice(ACL_TS_ID_AICORE); }},
      {"aclrtGetErrorVerbose", [] { return aclrtGetErrorVerbose(0, &to<aclrtErrorInfo>()); }},
      {"aclrtGetMemUceInfo", [] { return aclrtGetMemUceInfo(0, &to<aclrtMemUceInfo>(), 1, &size); }},
      {"aclrtGetCurrentContext", [] { return aclrtGetCurrentContext(&to<aclrtContext>()); }},
      {"aclrtSetCurrentContext", [] { return aclrtSetCurrentContext(context); }},
      {"aclrtCtxGetCurrentDefaultStream", [] { return aclrtCtxGetCurrentDefaultStream(&to<aclrtStream>()); }},
      {"aclrtGetPrimaryCtxState", [] { return aclrtGetPrimaryCtxState(0, nullptr, &number); }},
      {"aclrtSetSysParamOpt", [] { return aclrtSetSysParamOpt(ACL_OPT_DETERMINISTIC, 1); }},
      {"aclrtGetSysParamOpt",
       [] {
         return aclrtSetSysParamOpt(ACL_OPT_DETERMINISTIC, 1) == ACL_SUCCESS
                    ? aclrtGetSysParamOpt(ACL_OPT_DETERMINISTIC, &large)
                    : kNothing;
       }},
      {"aclrtCtxSetSysParamOpt", [] { return aclrtCtxSetSysParamOpt(ACL_OPT_DETERMINISTIC, 1); }},
      {"aclrtCtxGetSysParamOpt",
       [] {
         return aclrtCtxSetSysParamOpt(ACL_OPT_DETERMINISTIC, 1) == ACL_SUCCESS
                    ? aclrtCtxGetSysParamOpt(ACL_OPT_DETERMINISTIC, &large)
                    : kNothing;
       }},
      {"aclrtPeekAtLastError",
       [] { return static_cast<void>(aclrtPeekAtLastError(ACL_RT_THREAD_LEVEL)), ACL_SUCCESS; }},
      {"aclrtGetLastError",
       [] { return static_cast<void>(aclrtGetLastError(ACL_RT_THREAD_LEVEL)), ACL_SUCCESS; }},
      {"aclGetRecentErrMsg", [] { return static_cast<void>(aclGetRecentErrMsg()), ACL_SUCCESS; }},
      {"aclAppLog",
       [] { return static_cast<void>(aclAppLog(ACL_ERROR, "f", "f.c", 1, "%d", 1)), ACL_SUCCESS; }},
      {"aclDataTypeSize", [] { return aclDataTypeSize(ACL_FLOAT) == 4 ? ACL_SUCCESS : kNothing; }},
      {"aclFloat16ToFloat", [] { return aclFloat16ToFloat(0) == 0 ? ACL_SUCCESS : kNothing; }},
      {"aclFloatToFloat16", [] { return aclFloatToFloat16(0) == 0 ? ACL_SUCCESS : kNothing; }},
      {"aclrtStreamQuery", [] { return aclrtStreamQuery(stream, &to<aclrtStreamStatus>()); }},
      {"aclrtStreamGetId", [] { return aclrtStreamGetId(stream, &number); }},
      {"aclrtStreamGetPriority", [] { return aclrtStreamGetPriority(stream, &count); }},
      {"aclrtStreamGetFlags", [] { return aclrtStreamGetFlags(stream, &count); }},
      {"aclrtSetStreamFailureMode", [] { return aclrtSetStreamFailureMode(stream, ACL_STOP_ON_FAILURE); }},
      {"aclrtSetStreamOverflowSwitch", [] { return aclrtSetStreamOverflowSwitch(stream, 1); }},
      {"aclrtGetStreamOverflowSwitch", [] { return aclrtGetStreamOverflowSwitch(stream, &count); }},
      {"aclrtSetStreamAttribute",
       [] {
         return aclrtSetStreamAttribute(stream, ACL_STREAM_ATTR_USER_CUSTOM_TAG, &to<aclrtStreamAttrValue>());
       }},
      {"aclrtGetStreamAttribute",
       [] {
         return aclrtGetStreamAttribute(stream, ACL_STREAM_ATTR_USER_CUSTOM_TAG, &to<aclrtStreamAttrValue>());
       }},
      {"aclrtDeviceGetStreamPriorityRange",
       [] { return aclrtDeviceGetStreamPriorityRange(&number, &number); }},
      {"aclrtGetStreamAvailableNum", [] { return aclrtGetStreamAvailableNum(&count); }},
      {"aclrtGetEventAvailNum", [] { return aclrtGetEventAvailNum(&count); }},
      {"aclrtGetEventId", [] { return aclrtGetEventId(event, &count); }},
      {"aclrtQueryEvent", [] { return aclrtQueryEvent(event, &to<aclrtEventStatus>()); }},
      {"aclrtQueryEventStatus", [] { return aclrtQueryEventStatus(event, &to<aclrtEventRecordedStatus>()); }},
      {"aclrtQueryEventWaitStatus",
       [] { return aclrtQueryEventWaitStatus(event, &to<aclrtEventWaitStatus>()); }},
      {"aclrtEventElapsedTime", [] { return aclrtEventElapsedTime(&to<float>(), event, timed); }},
      {"aclrtEventGetTimestamp", [] { return aclrtEventGetTimestamp(event, &flags); }},
      {"aclrtGetNotifyId", [] { return aclrtGetNotifyId(notify, &count); }},
      {"aclrtNotifyBatchReset", [] { return aclrtNotifyBatchReset(&notify, 1); }},
      {"aclrtMemFlush", [] { return aclrtMemFlush(block, 4096); }},
      {"aclrtMemInvalidate", [] { return aclrtMemInvalidate(block, 4096); }},
      {"aclrtGetMemInfo", [] { return aclrtGetMemInfo(ACL_HBM_MEM, &size, &size); }},
      {"aclrtGetMemUsageInfo", [] { return aclrtGetMemUsageInfo(0, &to<aclrtMemUsageInfo>(), 1, &size); }},
      {"aclrtCheckMemType", [] { return aclrtCheckMemType(&block, 1, ACL_RT_MEM_TYPE_DEV, &count, 0); }},
      {"aclrtPointerGetAttributes",
       [] { return aclrtPointerGetAttributes(block, &to<aclrtPtrAttributes>()); }},
      {"aclrtHostGetDevicePointer", [] { return aclrtHostGetDevicePointer(pinned, &to<void*>(), 0); }},
      {"aclrtHostMemMapCapabilities",
       [] { return aclrtHostMemMapCapabilities(0, ACL_RT_HAC_TYPE_SDMA, &to<aclrtHostMemMapCapability>()); }},
      {"aclrtMemGetAccess", [] { return aclrtMemGetAccess(mapped, &to<aclrtMemLocation>(), &flags); }},
      {"aclrtMemGetAllocationGranularity", [] { return get_granularity(); }},
      {"aclrtMemGetAllocationPropertiesFromHandle",
       [] { return aclrtMemGetAllocationPropertiesFromHandle(handle, &to<aclrtPhysicalMemProp>()); }},
      {"aclrtMemGetAddressRange", [] { return aclrtMemGetAddressRange(block, &to<void*>(), &size); }},
      {"aclrtMemPoolGetAttr",
       [] { return aclrtMemPoolGetAttr(pool, ACL_RT_MEM_POOL_ATTR_USED_MEM_HIGH, &flags); }},
      {"aclrtMemPoolSetAttr",
       [] { return aclrtMemPoolSetAttr(pool, ACL_RT_MEM_POOL_ATTR_RELEASE_THRESHOLD, &flags); }},
      {"aclrtMemManagedAdvise",
       [] { return aclrtMemManagedAdvise(managed, 2_MiB, ACL_MEM_ADVISE_SET_READ_MOSTLY, on_device()); }},
      {"aclrtMemManagedGetAttr", [] { return get_managed(); }},
      {"aclrtMemManagedGetAttrs", [] { return get_managed_attributes(); }},
      {"aclrtIpcMemSetImportPid", [] { return aclrtIpcMemSetImportPid(key.data(), &one, 1); }},
      {"aclrtNotifySetImportPid", [] { return aclrtNotifySetImportPid(notify, &one, 1); }},
      {"aclrtGetMemcpyDescSize",
       [] { return aclrtGetMemcpyDescSize(ACL_MEMCPY_INNER_DEVICE_TO_DEVICE, &size); }},
      {"aclrtSetMemcpyDesc",
       [] {
         return aclrtSetMemcpyDesc(block, ACL_MEMCPY_INNER_DEVICE_TO_DEVICE, mapped, block, 8, nullptr);
       }},
      {"aclrtCmoGetDescSize", [] { return aclrtCmoGetDescSize(&size); }},
      {"aclrtCmoSetDesc", [] { return aclrtCmoSetDesc(block, mapped, 16); }},
      {"aclrtDeviceL2CacheFlush", [] { return aclrtDeviceL2CacheFlush(nullptr); }},
  };
}

std::vector<Scenario> scenarios() {
  std::vector<Scenario> all;
  for (const Question& question : questions()) {
    const auto prepare_machine = [product = question.product] {
      if (product != nullptr) setenv("PLAT_PRODUCT", product, 1);
      setenv("ASCEND_HOME_PATH", PLAT_SOURCE "/tests/rules/home", 1);
      setenv("PLAT_DEVICE_NUMBERS", "ai_core=24,cube_core=24,vector_core=48,l2=192MiB", 1);
      return nullptr;
    };
    all.push_back({question.name, make_world, question.ask, end_world, prepare_machine});
  }
  return all;
}

// None of them queues work.
INSTANTIATE_TEST_SUITE_P(Questions, EveryStepTest,
                         ::testing::Combine(::testing::ValuesIn(scenarios()),
                                            ::testing::Values(Work::Elsewhere)),
                         name_of_case);

}  // namespace
}  // namespace plat::test
