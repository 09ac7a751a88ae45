// SPDX-License-Identifier: Apache-2.0
// The three kinds of device ids, and what identifies a device outside of ACL.
//
// User ids are those that aclrtSetDevice takes: places in ASCEND_RT_VISIBLE_DEVICES. Logic ids number the
// devices of the machine, physical ids those of the server around it; here these two are the same.
#pragma once

#include "acl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct aclrtUuid {
  char bytes[16];
} aclrtUuid;

#define ACL_RT_DEVS_TOPOLOGY_HCCS 0x01ULL
#define ACL_RT_DEVS_TOPOLOGY_PIX 0x02ULL
#define ACL_RT_DEVS_TOPOLOGY_PIB 0x04ULL
#define ACL_RT_DEVS_TOPOLOGY_PHB 0x08ULL
#define ACL_RT_DEVS_TOPOLOGY_SYS 0x10ULL
#define ACL_RT_DEVS_TOPOLOGY_SIO 0x20ULL
#define ACL_RT_DEVS_TOPOLOGY_HCCS_SW 0x40ULL

// The logic id of a user id. 107000 for negative ids, 107001 for those that are not visible.
ACL_FUNC_VISIBILITY aclError aclrtGetLogicDevIdByUserDevId(const int32_t userDevid,
                                                           int32_t* const logicDevId);

// The user id of a logic id; 107001 for a device that is hidden or not there.
ACL_FUNC_VISIBILITY aclError aclrtGetUserDevIdByLogicDevId(const int32_t logicDevId,
                                                           int32_t* const userDevid);

// The user id of a physical id. Its name says logic id and means user id; so it does on hardware.
ACL_FUNC_VISIBILITY aclError aclrtGetLogicDevIdByPhyDevId(const int32_t phyDevId, int32_t* const logicDevId);

// The physical id of a user id. Its name says logic id and means user id; so it does on hardware.
ACL_FUNC_VISIBILITY aclError aclrtGetPhyDevIdByLogicDevId(const int32_t logicDevId, int32_t* const phyDevId);

// The user id of a physical id.
ACL_FUNC_VISIBILITY aclError aclrtGetUserDevIdByPhyDevId(const int32_t phyDevId, int32_t* const userDevId);

// The physical id of a user id.
ACL_FUNC_VISIBILITY aclError aclrtGetPhyDevIdByUserDevId(const int32_t userDevId, int32_t* const phyDevId);

// 16 bytes that no other device has: those of a machine and its device, the same in every process.
ACL_FUNC_VISIBILITY aclError aclrtDeviceGetUuid(int32_t deviceId, aclrtUuid* uuid);

// The device's place on the bus of the software machine, as "0000:01:00.0"; len is at least 13. 207000 on
// products that the host reaches by other means than PCIe.
ACL_FUNC_VISIBILITY aclError aclrtDeviceGetPCIBusId(int32_t deviceId, char* pciBusId, int32_t len);

// The visible device with that text of aclrtDeviceGetPCIBusId; 107000 when no device has it.
ACL_FUNC_VISIBILITY aclError aclrtDeviceGetByPCIBusId(const char* pciBusId, int32_t* deviceId);

// How two devices are connected: one of ACL_RT_DEVS_TOPOLOGY_*. Answered on Atlas A3 alone, where it follows
// from the dies of a chip; 207000 elsewhere.
ACL_FUNC_VISIBILITY aclError aclrtGetDevicesTopo(uint32_t deviceId, uint32_t otherDeviceId, uint64_t* value);

#ifdef __cplusplus
}
#endif
