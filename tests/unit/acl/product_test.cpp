// SPDX-License-Identifier: Apache-2.0
// What differs between products, call by call: one program, run once for each product (see CMakeLists.txt).
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <set>
#include <string>

#include "acl/acl.h"

namespace {

constexpr aclError kNotSupported = 207000;

std::string product() { return std::getenv("PLAT_PRODUCT"); }
bool is_recent() { return product() == "a2" || product() == "a3" || product() == "950"; }

TEST(Product, SaysItsArchitecture) {
  const std::string p = product();
  int64_t value = 0;
  const aclError code = aclrtGetDeviceInfo(0, ACL_DEV_ATTR_NPU_ARCH, &value);
  if (p == "200") {
    EXPECT_EQ(code, kNotSupported);
    return;
  }
  EXPECT_EQ(code, ACL_SUCCESS);
  EXPECT_EQ(value, p == "950"         ? 3510
                   : is_recent()      ? 2201
                   : p == "inference" ? 2002
                   : p == "training"  ? 1001
                                      : 3002);
}

TEST(Product, ThreadsOfVectorCoresAreZeroWhereThereAreNone) {
  int64_t value = 7;
  const aclError code = aclrtGetDeviceInfo(0, ACL_DEV_ATTR_MAX_THREADS_PER_BLOCK, &value);
  EXPECT_EQ(code, product() == "950" ? kNotSupported : ACL_SUCCESS);
  EXPECT_EQ(value, product() == "950" ? 7 : 0);
}

TEST(Product, PodNumbersAreOfServersInAPod) {
  int64_t server = 0, device = 0;
  EXPECT_EQ(aclrtGetDeviceInfo(1, ACL_DEV_ATTR_SUPER_POD_SERVER_ID, &server), ACL_SUCCESS);
  EXPECT_EQ(server, product() == "a3" ? 0 : 0x3FF);
  EXPECT_EQ(aclrtGetDeviceInfo(1, ACL_DEV_ATTR_SUPER_POD_DEVICE_ID, &device),
            product() == "a3" ? ACL_SUCCESS : kNotSupported);
  if (product() != "a3") return;
  EXPECT_EQ(device >> 22, server);
  EXPECT_EQ(device & 0xFFFF, 1);
}

TEST(Product, OverflowSwitchesAreOfRecentOnes) {
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  uint32_t flag = 9;
  EXPECT_EQ(aclrtGetStreamOverflowSwitch(nullptr, &flag), ACL_SUCCESS);
  EXPECT_EQ(flag, is_recent() ? 0u : 1u);
  EXPECT_EQ(aclrtSetStreamOverflowSwitch(nullptr, 0), ACL_SUCCESS);
  EXPECT_EQ(aclrtSetStreamOverflowSwitch(&flag, 0), is_recent() ? 107017 : ACL_SUCCESS);
  EXPECT_EQ(aclrtSetStreamOverflowSwitch(&flag, 2), 100000);
  EXPECT_EQ(aclrtResetDeviceForce(0), ACL_SUCCESS);
}

TEST(Product, UuidsAndPciIdsAreOfRecentOnes) {
  std::set<std::string> seen;
  for (int32_t device : {0, 1}) {
    aclrtUuid uuid{}, again{};
    EXPECT_EQ(aclrtDeviceGetUuid(device, &uuid), is_recent() ? ACL_SUCCESS : kNotSupported);
    EXPECT_EQ(aclrtDeviceGetUuid(device, &again), is_recent() ? ACL_SUCCESS : kNotSupported);
    EXPECT_EQ(std::memcmp(&uuid, &again, sizeof uuid), 0);
    seen.insert(std::string(uuid.bytes, sizeof uuid));
  }
  EXPECT_EQ(seen.size(), is_recent() ? 2u : 1u);
  aclrtUuid uuid{};
  EXPECT_EQ(aclrtDeviceGetUuid(-1, &uuid), 107001);
  EXPECT_EQ(aclrtDeviceGetUuid(2, &uuid), 107001);
  EXPECT_EQ(aclrtDeviceGetUuid(2, nullptr), 100000);
  char text[13];
  EXPECT_EQ(aclrtDeviceGetPCIBusId(0, text, 13), product() == "a2" ? ACL_SUCCESS : kNotSupported);
  int32_t id = 0;
  EXPECT_EQ(aclrtDeviceGetByPCIBusId("0000:01:00.0", &id), product() == "a2" ? ACL_SUCCESS
                                                           : is_recent()     ? 107000
                                                                             : kNotSupported);
}

TEST(Product, TopologyFollowsFromChipsOfTwoDies) {
  uint64_t value = 0;
  const aclError code = aclrtGetDevicesTopo(0, 1, &value);
  EXPECT_EQ(code, product() == "a3" ? ACL_SUCCESS : kNotSupported);
  EXPECT_EQ(aclrtGetDevicesTopo(0, 2, &value), 107001);
  EXPECT_EQ(aclrtGetDevicesTopo(2, 0, nullptr), 100000);
  if (product() != "a3") return;
  EXPECT_EQ(value, ACL_RT_DEVS_TOPOLOGY_SIO);
  EXPECT_EQ(aclrtGetDevicesTopo(1, 1, &value), ACL_SUCCESS);
  EXPECT_EQ(value, ACL_RT_DEVS_TOPOLOGY_HCCS);
}

TEST(Product, LimitsAreOfRecentOnesAndThreadsOf950) {
  size_t value = 0;
  EXPECT_EQ(aclrtDeviceGetLimit(ACL_RT_DEV_LIMIT_SIMD_STACK_SIZE, &value),
            is_recent() ? ACL_SUCCESS : kNotSupported);
  const bool threads = product() == "950";
  EXPECT_EQ(aclrtDeviceGetLimit(ACL_RT_DEV_LIMIT_SIMT_PRINTF_FIFO_SIZE, &value),
            threads ? ACL_SUCCESS : kNotSupported);
  EXPECT_EQ(aclrtDeviceSetLimit(ACL_RT_DEV_LIMIT_SIMD_STACK_SIZE, 160 << 10), !is_recent() ? kNotSupported
                                                                              : threads    ? 107000
                                                                                           : ACL_SUCCESS);
  EXPECT_EQ(aclrtDeviceSetLimit(ACL_RT_DEV_LIMIT_SIMT_STACK_SIZE, 0), threads ? ACL_SUCCESS : kNotSupported);
  EXPECT_EQ(aclrtDeviceSetLimit(ACL_RT_DEV_LIMIT_SIMT_DVG_WARP_STACK_SIZE, 0),
            threads ? 107000 : kNotSupported);
}

TEST(Product, TheToolkitKnowsInfinitiesOnRecentOnes) {
  const aclCannAttr* list = nullptr;
  size_t count = 9;
  EXPECT_EQ(aclGetCannAttributeList(&list, &count), ACL_SUCCESS);
  ASSERT_EQ(count, is_recent() ? 2u : 0u);
  for (size_t i = 0; i < count; ++i) {
    int32_t value = 0;
    EXPECT_EQ(aclGetCannAttribute(list[i], &value), ACL_SUCCESS);
    EXPECT_EQ(value, 1);
  }
  int32_t value = 9;
  EXPECT_EQ(aclGetCannAttribute(ACL_CANN_ATTR_INF_NAN, &value), ACL_SUCCESS);
  EXPECT_EQ(value, is_recent() ? 1 : 0);
  EXPECT_EQ(aclGetCannAttribute(ACL_CANN_ATTR_JIT_COMPILE, &value), ACL_SUCCESS);
  EXPECT_EQ(value, 0);
  EXPECT_EQ(aclGetCannAttribute(ACL_CANN_ATTR_UNDEFINED, &value), 100000);
  EXPECT_EQ(aclGetCannAttribute(static_cast<aclCannAttr>(3), &value), 100000);
  EXPECT_EQ(aclGetCannAttribute(ACL_CANN_ATTR_BF16, nullptr), 100000);
  EXPECT_EQ(aclGetCannAttributeList(nullptr, &count), 100000);
  EXPECT_EQ(aclGetCannAttributeList(&list, nullptr), 100000);
}

TEST(Product, StatusAndRatesAreToldEverywhere) {
  aclrtDeviceStatus status = ACL_RT_DEVICE_STATUS_END;
  EXPECT_EQ(aclrtQueryDeviceStatus(1, &status), ACL_SUCCESS);
  EXPECT_EQ(status, ACL_RT_DEVICE_STATUS_NORMAL);
  EXPECT_EQ(aclrtQueryDeviceStatus(2, &status), 107001);
  EXPECT_EQ(aclrtQueryDeviceStatus(2, nullptr), 100000);
  aclrtUtilizationInfo rates{};
  EXPECT_EQ(aclrtGetDeviceUtilizationRate(0, &rates), ACL_SUCCESS);
  EXPECT_EQ(rates.cubeUtilization, 0);
  EXPECT_EQ(rates.memoryUtilization, -1);
  EXPECT_EQ(aclrtGetDeviceUtilizationRate(77, &rates), ACL_SUCCESS);
  EXPECT_EQ(rates.cubeUtilization, -1);
  EXPECT_EQ(rates.aicpuUtilization, -1);
  rates.utilizationExtend = reinterpret_cast<aclrtUtilizationExtendInfo*>(&rates);
  EXPECT_EQ(aclrtGetDeviceUtilizationRate(0, &rates), 100000);
  EXPECT_EQ(aclrtGetDeviceUtilizationRate(0, nullptr), 100000);
  EXPECT_EQ(aclrtSetTsDevice(ACL_TS_ID_AIVECTOR), ACL_SUCCESS);
  EXPECT_EQ(aclrtSetTsDevice(ACL_TS_ID_RESERVED), 100000);
}

}  // namespace
