// SPDX-License-Identifier: Apache-2.0
// What devices say of themselves: every rule broken and kept. And the calls around them, in their order.
#include <cstring>
#include <thread>

#include "rules/stream_fixture.h"

namespace plat::rule_test {
namespace {

const Settings kNumbers{{"PLAT_DEVICE_NUMBERS", "ai_cpu=6,ai_core=24,cube_core=24,vector_core=48,l2=192MiB"}};

RULE_BROKEN(VisibleDevices, {"ASCEND_RT_VISIBLE_DEVICES", "1,0"}) {
  uint32_t count = 77;
  EXPECT_BREAKS(aclrtGetDeviceCount(&count));
  EXPECT_EQ(count, 77u);
  int64_t value = 0;
  EXPECT_BREAKS(aclGetDeviceCapability(0, ACL_DEVICE_INFO_L2_SIZE, &value));
  int32_t id = 0;
  EXPECT_EQ(aclrtGetLogicDevIdByUserDevId(0, &id), 107001);
  EXPECT_NE(std::string(aclGetRecentErrMsg()).find("after a higher one"), std::string::npos);
  EXPECT_EQ(aclrtSetDevice(0), 107001);
}
RULE_KEPT(VisibleDevices, {"PLAT_DEVICES", "4"}, {"ASCEND_RT_VISIBLE_DEVICES", "1,3, 2"}) {
  uint32_t count = 0;
  EXPECT_OK(aclrtGetDeviceCount(&count));
  EXPECT_EQ(count, 2u);
}

RULE_BROKEN(DeviceIdNegative) {
  int32_t id = 5;
  EXPECT_BREAKS(aclrtGetLogicDevIdByUserDevId(-1, &id));
  EXPECT_BREAKS(aclrtGetUserDevIdByLogicDevId(-1, &id));
  EXPECT_BREAKS(aclrtGetLogicDevIdByPhyDevId(INT32_MIN, &id));
  EXPECT_BREAKS(aclrtGetPhyDevIdByLogicDevId(-1, &id));
  EXPECT_BREAKS(aclrtGetUserDevIdByPhyDevId(-1, &id));
  EXPECT_BREAKS(aclrtGetPhyDevIdByUserDevId(-1, &id));
  EXPECT_EQ(aclrtGetPhyDevIdByUserDevId(-1, nullptr), 100000);
  EXPECT_EQ(id, 5);
}
RULE_KEPT(DeviceIdNegative, {"PLAT_DEVICES", "4"}, {"ASCEND_RT_VISIBLE_DEVICES", "1,3"}) {
  int32_t first = -7;
  EXPECT_OK(aclrtGetLogicDevIdByUserDevId(0, &first));
  EXPECT_EQ(first, 1);  // of devices 1 and 3 the first

  const auto to = [](auto convert, int32_t from) {
    int32_t id = -7;
    const aclError code = convert(from, &id);
    return code == 0 ? id : -code;
  };
  EXPECT_EQ(to(aclrtGetLogicDevIdByUserDevId, 1), 3);
  EXPECT_EQ(to(aclrtGetUserDevIdByLogicDevId, 3), 1);
  // The names of these two say logic id, and mean user id.
  EXPECT_EQ(to(aclrtGetLogicDevIdByPhyDevId, 3), 1);
  EXPECT_EQ(to(aclrtGetPhyDevIdByLogicDevId, 1), 3);
  EXPECT_EQ(to(aclrtGetUserDevIdByPhyDevId, 1), 0);
  EXPECT_EQ(to(aclrtGetPhyDevIdByUserDevId, 0), 1);
  for (auto convert :
       {aclrtGetLogicDevIdByUserDevId, aclrtGetPhyDevIdByLogicDevId, aclrtGetPhyDevIdByUserDevId})
    EXPECT_EQ(to(convert, 2), -107001);  // two are visible
  for (auto convert :
       {aclrtGetUserDevIdByLogicDevId, aclrtGetLogicDevIdByPhyDevId, aclrtGetUserDevIdByPhyDevId}) {
    EXPECT_EQ(to(convert, 2), -107001);  // hidden
    EXPECT_EQ(to(convert, 4), -107001);  // not there
  }
}

RULE_BROKEN(DeviceInfoId) {
  int64_t value = 0;
  EXPECT_BREAKS(aclrtGetDeviceInfo(2, ACL_DEV_ATTR_IS_VIRTUAL, &value));
  EXPECT_BREAKS(aclrtGetDeviceInfo(UINT32_MAX, static_cast<aclrtDevAttr>(9), &value));
  EXPECT_EQ(aclrtGetDeviceInfo(2, ACL_DEV_ATTR_IS_VIRTUAL, nullptr), 100000);
}
RULE_KEPT(DeviceInfoId) {
  int64_t value = -1;
  EXPECT_OK(aclrtGetDeviceInfo(1, ACL_DEV_ATTR_IS_VIRTUAL, &value));
  EXPECT_EQ(value, 0);
}

RULE_BROKEN(DeviceInfoAttribute) {
  int64_t value = 0;
  for (const int attribute : {-1, 0, 2, 103, 213, 303, 410, 502, 602})
    EXPECT_BREAKS(aclrtGetDeviceInfo(0, static_cast<aclrtDevAttr>(attribute), &value));
}
RULE_KEPT(DeviceInfoAttribute) {
  int64_t value = -1;
  EXPECT_OK(aclrtGetDeviceInfo(0, ACL_DEV_ATTR_NPU_ARCH, &value));
  EXPECT_EQ(value, 2201);
  EXPECT_OK(aclrtGetDeviceInfo(0, ACL_DEV_ATTR_WARP_SIZE, &value));
  EXPECT_EQ(value, 0);
  EXPECT_OK(aclrtGetDeviceInfo(0, ACL_DEV_ATTR_MAX_BLOCK_DIM_Z, &value));
  EXPECT_EQ(value, 0);
  EXPECT_OK(aclrtGetDeviceInfo(0, ACL_DEV_ATTR_TOTAL_GLOBAL_MEM_SIZE, &value));
  Device device;
  size_t free = 0, total = 0;
  EXPECT_OK(aclrtGetMemInfo(ACL_HBM_MEM, &free, &total));
  EXPECT_EQ(static_cast<size_t>(value), total);
}

RULE_BROKEN(DeviceNumber) {
  int64_t value = 5;
  for (const auto attribute :
       {ACL_DEV_ATTR_AICORE_CORE_NUM, ACL_DEV_ATTR_CUBE_CORE_NUM, ACL_DEV_ATTR_L2_CACHE_SIZE,
        ACL_DEV_ATTR_VECTOR_CORE_NUM, ACL_DEV_ATTR_AICPU_CORE_NUM, ACL_DEV_ATTR_MAINBOARD_ID,
        ACL_DEV_ATTR_HD_CONNECT_TYPE, ACL_DEV_ATTR_DEVICE_FORM_FACTOR})
    EXPECT_BREAKS(aclrtGetDeviceInfo(0, attribute, &value));
  for (const auto info :
       {ACL_DEVICE_INFO_AI_CORE_NUM, ACL_DEVICE_INFO_VECTOR_CORE_NUM, ACL_DEVICE_INFO_L2_SIZE})
    EXPECT_BREAKS(aclGetDeviceCapability(0, info, &value));
  EXPECT_EQ(value, 5);
  uint64_t topology = 0;
  EXPECT_BREAKS(aclrtGetDevicesTopo(0, 1, &topology));
  Device device;
  uint32_t cores = 0;
  EXPECT_BREAKS(aclrtGetDeviceResLimit(0, ACL_RT_DEV_RES_CUBE_CORE, &cores));
  EXPECT_BREAKS(aclrtSetStreamResLimit(nullptr, ACL_RT_DEV_RES_CUBE_CORE, 1));
}
RULE_KEPT(DeviceNumber, {"PLAT_DEVICE_NUMBERS", "ai_core=24,vector_core=48,l2=192MiB"}) {
  int64_t value = 0;
  EXPECT_OK(aclrtGetDeviceInfo(0, ACL_DEV_ATTR_AICORE_CORE_NUM, &value));
  EXPECT_EQ(value, 24);
  EXPECT_OK(aclGetDeviceCapability(1, ACL_DEVICE_INFO_VECTOR_CORE_NUM, &value));
  EXPECT_EQ(value, 48);
  EXPECT_OK(aclGetDeviceCapability(0, ACL_DEVICE_INFO_L2_SIZE, &value));
  EXPECT_EQ(value, 192 << 20);
}

TEST(DeviceInfo, TellsTheLinkOfThe950) {
  run({{"PLAT_PRODUCT", "950"}}, [] {
    int64_t value = 0;
    EXPECT_OK(aclrtGetDeviceInfo(0, ACL_DEV_ATTR_HD_CONNECT_TYPE, &value));
    EXPECT_EQ(value, ACL_HOST_DEVICE_CONNECT_TYPE_UB);
    // And nothing of what only a board or a pod knows.
    for (const auto attribute :
         {ACL_DEV_ATTR_SMP_ID, ACL_DEV_ATTR_PHY_CHIP_ID, ACL_DEV_ATTR_SUPER_POD_ID,
          ACL_DEV_ATTR_CUST_OP_PRIVILEGE, ACL_DEV_ATTR_MAINBOARD_ID, ACL_DEV_ATTR_DEVICE_FORM_FACTOR})
      EXPECT_NE(aclrtGetDeviceInfo(0, attribute, &value), 0) << attribute;
  });
}

RULE_BROKEN(CapabilityDevice) {
  int64_t value = 0;
  EXPECT_BREAKS(aclGetDeviceCapability(2, ACL_DEVICE_INFO_L2_SIZE, &value));
  EXPECT_BREAKS(aclGetDeviceCapability(2, ACL_DEVICE_INFO_UNDEFINED, &value));
}
RULE_KEPT(CapabilityDevice, {"PLAT_DEVICE_NUMBERS", "ai_core=24"}) {
  int64_t value = 0;
  EXPECT_OK(aclGetDeviceCapability(1, ACL_DEVICE_INFO_AI_CORE_NUM, &value));
  EXPECT_EQ(aclGetDeviceCapability(1, ACL_DEVICE_INFO_UNDEFINED, &value), 100000);
  EXPECT_EQ(aclGetDeviceCapability(1, static_cast<aclDeviceInfo>(3), &value), 100000);
  EXPECT_EQ(aclGetDeviceCapability(9, ACL_DEVICE_INFO_L2_SIZE, nullptr), 100000);
}

RULE_BROKEN(DeviceFeature) {
  int32_t value = 0;
  EXPECT_BREAKS(aclrtGetDeviceCapability(9, static_cast<aclrtDevFeatureType>(2), &value));
}
RULE_KEPT(DeviceFeature) {
  int32_t value = 9;
  EXPECT_OK(aclrtGetDeviceCapability(1, ACL_FEATURE_SYSTEM_MEMQ_EVENT_CROSS_DEV, &value));
  EXPECT_EQ(value, ACL_DEV_FEATURE_NOT_SUPPORT);
  EXPECT_EQ(aclrtGetDeviceCapability(9, ACL_FEATURE_SYSTEM_MEMQ_EVENT_CROSS_DEV, &value), 107001);
}

RULE_BROKEN(PciRoom) {
  char text[16];
  EXPECT_BREAKS(aclrtDeviceGetPCIBusId(0, text, 12));
  EXPECT_BREAKS(aclrtDeviceGetPCIBusId(9, text, -1));
  EXPECT_EQ(aclrtDeviceGetPCIBusId(-1, text, 12), 107001);
  EXPECT_EQ(aclrtDeviceGetPCIBusId(9, text, 13), 107001);
  EXPECT_EQ(aclrtDeviceGetPCIBusId(-1, nullptr, 12), 100000);
}
RULE_KEPT(PciRoom) {
  char text[14] = "unchanged....";
  EXPECT_OK(aclrtDeviceGetPCIBusId(0, text, 13));
  EXPECT_EQ(std::strlen(text), 12u);
}

RULE_BROKEN(PciKnown) {
  int32_t id = 0;
  EXPECT_BREAKS(aclrtDeviceGetByPCIBusId("0000:ff:00.0", &id));
  EXPECT_BREAKS(aclrtDeviceGetByPCIBusId("", &id));
  EXPECT_BREAKS(aclrtDeviceGetByPCIBusId("0000:01:00.0 ", &id));
}
RULE_KEPT(PciKnown, {"PLAT_DEVICES", "4"}, {"ASCEND_RT_VISIBLE_DEVICES", "1,3"}) {
  char text[13];
  int32_t id = -1;
  EXPECT_OK(aclrtDeviceGetPCIBusId(1, text, sizeof text));
  EXPECT_OK(aclrtDeviceGetByPCIBusId(text, &id));
  EXPECT_EQ(id, 1);
  EXPECT_EQ(aclrtDeviceGetByPCIBusId("0000:01:00.0", &id), 107001);  // hidden
}

RULE_BROKEN(DeviceLimitValue) {
  EXPECT_BREAKS(aclrtDeviceSetLimit(ACL_RT_DEV_LIMIT_SIMD_STACK_SIZE, 192_KiB + 1));
  EXPECT_BREAKS(aclrtDeviceSetLimit(ACL_RT_DEV_LIMIT_SIMD_PRINTF_FIFO_SIZE_PER_CORE, 1016));
  EXPECT_BREAKS(aclrtDeviceSetLimit(ACL_RT_DEV_LIMIT_SIMD_PRINTF_FIFO_SIZE_PER_CORE, 1028));
  EXPECT_BREAKS(aclrtDeviceSetLimit(ACL_RT_DEV_LIMIT_SIMD_PRINTF_FIFO_SIZE_PER_CORE, 64_MiB + 8));
  EXPECT_EQ(aclrtDeviceSetLimit(ACL_RT_DEV_LIMIT_SIMT_STACK_SIZE, 1024), 207000);
  EXPECT_EQ(aclrtDeviceSetLimit(static_cast<aclrtDeviceLimit>(5), 1024), 100000);
  EXPECT_EQ(aclrtDeviceSetLimit(ACL_RT_DEV_LIMIT_SIMD_STACK_SIZE, size_t{1} << 32), 100000);
}
RULE_KEPT(DeviceLimitValue) {
  const auto limit = [](aclrtDeviceLimit which) {
    size_t value = 0;
    EXPECT_OK(aclrtDeviceGetLimit(which, &value));
    return value;
  };
  EXPECT_EQ(limit(ACL_RT_DEV_LIMIT_SIMD_STACK_SIZE), 32768u);
  EXPECT_EQ(limit(ACL_RT_DEV_LIMIT_SIMD_PRINTF_FIFO_SIZE_PER_CORE), 32768u);
  EXPECT_OK(aclrtDeviceSetLimit(ACL_RT_DEV_LIMIT_SIMD_STACK_SIZE, 33000));
  EXPECT_EQ(limit(ACL_RT_DEV_LIMIT_SIMD_STACK_SIZE), 48_KiB);
  EXPECT_OK(aclrtDeviceSetLimit(ACL_RT_DEV_LIMIT_SIMD_STACK_SIZE, 1));
  EXPECT_EQ(limit(ACL_RT_DEV_LIMIT_SIMD_STACK_SIZE), 32768u);
  EXPECT_OK(aclrtDeviceSetLimit(ACL_RT_DEV_LIMIT_SIMD_STACK_SIZE, 192_KiB));
  EXPECT_OK(aclrtDeviceSetLimit(ACL_RT_DEV_LIMIT_SIMD_PRINTF_FIFO_SIZE_PER_CORE, 1024));
  EXPECT_EQ(limit(ACL_RT_DEV_LIMIT_SIMD_PRINTF_FIFO_SIZE_PER_CORE), 1024u);
}

RULE_BROKEN(CoreType, kNumbers) {
  Device device;
  const auto wrong = static_cast<aclrtDevResLimitType>(2);
  uint32_t value = 0;
  EXPECT_BREAKS(aclrtGetDeviceResLimit(9, wrong, &value));
  EXPECT_BREAKS(aclrtSetDeviceResLimit(0, wrong, 1));
  EXPECT_BREAKS(aclrtGetStreamResLimit(nullptr, wrong, &value));
  EXPECT_BREAKS(aclrtSetStreamResLimit(nullptr, wrong, 1));
  EXPECT_BREAKS(aclrtGetResInCurrentThread(wrong, &value));
  EXPECT_EQ(aclrtGetDeviceResLimit(-1, wrong, &value), 107001);
  EXPECT_EQ(aclrtGetDeviceResLimit(-1, wrong, nullptr), 100000);
}
RULE_KEPT(CoreType, kNumbers) {
  Device device;
  uint32_t value = 0;
  EXPECT_OK(aclrtGetDeviceResLimit(0, ACL_RT_DEV_RES_VECTOR_CORE, &value));
  EXPECT_EQ(value, 48u);
}

RULE_BROKEN(CoreNumber, kNumbers) {
  Device device;
  EXPECT_BREAKS(aclrtSetDeviceResLimit(0, ACL_RT_DEV_RES_CUBE_CORE, 25));
  EXPECT_BREAKS(aclrtSetStreamResLimit(nullptr, ACL_RT_DEV_RES_CUBE_CORE, 25));
}
// The stream's limit comes before the device's, and that before the hardware; each thread chooses for itself.
RULE_KEPT(CoreNumber, kNumbers) {
  Device device;
  const auto here = [] {
    uint32_t value = 0;
    EXPECT_OK(aclrtGetResInCurrentThread(ACL_RT_DEV_RES_CUBE_CORE, &value));
    return value;
  };
  EXPECT_EQ(here(), 24u);
  EXPECT_OK(aclrtSetDeviceResLimit(0, ACL_RT_DEV_RES_CUBE_CORE, 8));
  EXPECT_EQ(here(), 8u);

  aclrtStream stream = make_stream();
  const auto of_stream = [&] {
    uint32_t value = 0;
    EXPECT_OK(aclrtGetStreamResLimit(stream, ACL_RT_DEV_RES_CUBE_CORE, &value));
    return value;
  };
  EXPECT_EQ(of_stream(), 8u);
  EXPECT_OK(aclrtUseStreamResInCurrentThread(stream));
  EXPECT_EQ(here(), 8u);
  EXPECT_OK(aclrtSetStreamResLimit(stream, ACL_RT_DEV_RES_CUBE_CORE, 20));
  EXPECT_EQ(of_stream(), 20u);
  EXPECT_EQ(here(), 20u);
  std::thread([&] {
    Device again;
    EXPECT_EQ(here(), 8u);
  }).join();
  EXPECT_OK(aclrtUnuseStreamResInCurrentThread(nullptr));  // another stream: nothing changes
  EXPECT_EQ(here(), 20u);
  EXPECT_OK(aclrtResetStreamResLimit(stream));
  EXPECT_EQ(here(), 8u);
  EXPECT_OK(aclrtSetStreamResLimit(stream, ACL_RT_DEV_RES_CUBE_CORE, 0));
  EXPECT_EQ(here(), 0u);
  EXPECT_OK(aclrtDestroyStream(stream));
  EXPECT_EQ(here(), 8u);
  EXPECT_EQ(aclrtUseStreamResInCurrentThread(stream), 107017);
  EXPECT_OK(aclrtResetDeviceResLimit(0));
  EXPECT_EQ(here(), 24u);
}

RULE_BROKEN(CoreDevice, kNumbers) {
  uint32_t value = 0;
  EXPECT_BREAKS(aclrtGetDeviceResLimit(0, ACL_RT_DEV_RES_CUBE_CORE, &value));
  EXPECT_BREAKS(aclrtSetDeviceResLimit(1, ACL_RT_DEV_RES_CUBE_CORE, 99));
  EXPECT_BREAKS(aclrtResetDeviceResLimit(0));
  EXPECT_EQ(aclrtResetDeviceResLimit(2), 107001);
}
RULE_KEPT(CoreDevice, kNumbers) {
  Device device;
  EXPECT_OK(aclrtSetDeviceResLimit(0, ACL_RT_DEV_RES_CUBE_CORE, 24));
  EXPECT_OK(aclrtResetDeviceResLimit(0));
}

std::string g_device_told;
void tell(int32_t id, aclrtDeviceState state, void* argument) {
  g_device_told += static_cast<const char*>(argument) + std::to_string(id) + std::to_string(state) + " ";
}

RULE_BROKEN(CallbackName) {
  EXPECT_BREAKS(aclrtRegDeviceStateCallback(nullptr, tell, nullptr));
  EXPECT_BREAKS(aclrtRegDeviceStateCallback(nullptr, nullptr, nullptr));
  EXPECT_OK(aclrtRegDeviceStateCallback("one", tell, nullptr));
  EXPECT_BREAKS(aclrtRegDeviceStateCallback("one", tell, nullptr));
}
RULE_KEPT(CallbackName) {
  char a[] = "a", b[] = "b";
  EXPECT_OK(aclrtRegDeviceStateCallback("a", tell, a));
  EXPECT_OK(aclrtRegDeviceStateCallback("b", tell, b));
  EXPECT_OK(aclrtRegDeviceStateCallback("never", nullptr, nullptr));
  EXPECT_OK(aclrtSetDevice(1));
  EXPECT_EQ(g_device_told, "a10 b10 a11 b11 ");
  EXPECT_NE(aclrtSetDevice(9), 0);
  EXPECT_EQ(g_device_told, "a10 b10 a11 b11 ");
  EXPECT_OK(aclrtRegDeviceStateCallback("a", nullptr, nullptr));
  EXPECT_OK(aclrtResetDevice(1));
  EXPECT_EQ(g_device_told, "a10 b10 a11 b11 b12 b13 ");
}

RULE_BROKEN(VersionFile, {"ASCEND_HOME_PATH", "/nowhere"}) {
  aclCANNPackageVersion version;
  std::memset(&version, 'x', sizeof version);
  EXPECT_BREAKS(aclsysGetCANNVersion(ACL_PKG_NAME_RUNTIME, &version));
  EXPECT_EQ(version.version[0], 'x');
  EXPECT_EQ(aclsysGetCANNVersion(static_cast<aclCANNPackageName>(8), &version), 100000);
  EXPECT_EQ(aclsysGetCANNVersion(ACL_PKG_NAME_RUNTIME, nullptr), 100000);
}
RULE_KEPT(VersionFile, {"ASCEND_HOME_PATH", PLAT_SOURCE "/tests/rules/home"}) {
  aclCANNPackageVersion version;
  std::memset(&version, 'x', sizeof version);
  EXPECT_OK(aclsysGetCANNVersion(ACL_PKG_NAME_RUNTIME, &version));
  EXPECT_STREQ(version.version, "8.2.RC1.alpha003");
  EXPECT_STREQ(version.majorVersion, "8");
  EXPECT_STREQ(version.minorVersion, "2");
  EXPECT_STREQ(version.releaseVersion, "RC1");
  EXPECT_STREQ(version.patchVersion, "alpha003");
  EXPECT_OK(aclsysGetCANNVersion(ACL_PKG_NAME_DRIVER, &version));
  EXPECT_EQ(std::strlen(version.version), 127u);
  EXPECT_STREQ(version.minorVersion, "");
}

RULE_BROKEN(DataBuffer) {
  aclDataBuffer* buffer = aclCreateDataBuffer(nullptr, 3);
  EXPECT_OK(aclDestroyDataBuffer(buffer));
  EXPECT_BREAKS(aclDestroyDataBuffer(buffer));
  EXPECT_BREAKS(aclUpdateDataBuffer(buffer, nullptr, 0));
  EXPECT_EQ(aclGetDataBufferAddr(buffer), nullptr);
  EXPECT_EQ(aclGetDataBufferSizeV2(buffer), 0u);
  int other = 0;
  EXPECT_BREAKS(aclDestroyDataBuffer(reinterpret_cast<aclDataBuffer*>(&other)));
}
RULE_KEPT(DataBuffer) {
  int data = 0;
  aclDataBuffer* buffer = aclCreateDataBuffer(nullptr, 3);
  EXPECT_OK(aclUpdateDataBuffer(buffer, &data, 4));
  EXPECT_EQ(aclGetDataBufferAddr(buffer), &data);
  EXPECT_OK(aclDestroyDataBuffer(buffer));
}

}  // namespace
}  // namespace plat::rule_test
