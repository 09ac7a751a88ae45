// SPDX-License-Identifier: Apache-2.0
// A C program as a user of the vendor's library writes it.
#include <acl/acl.h>
#include <stdio.h>
#include <string.h>

int main(void) {
  if (aclInit(NULL) != ACL_SUCCESS || aclrtSetDevice(0) != ACL_SUCCESS) return 1;
  aclrtPhysicalMemProp prop;
  memset(&prop, 0, sizeof prop);
  prop.memAttr = ACL_HBM_MEM_HUGE;
  prop.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
  const size_t size = 2 << 20;
  void* address = NULL;
  aclrtDrvMemHandle handle = NULL;
  if (aclrtReserveMemAddress(&address, size, 0, NULL, 1) != ACL_SUCCESS) return 2;
  if (aclrtMallocPhysical(&handle, size, &prop, 0) != ACL_SUCCESS) return 3;
  if (aclrtMapMem(address, size, 0, handle, 0) != ACL_SUCCESS) return 4;
  if (aclrtUnmapMem(address) != ACL_SUCCESS) return 5;
  if (aclrtFreePhysical(handle) != ACL_SUCCESS) return 6;
  if (aclrtReleaseMemAddress(address) != ACL_SUCCESS) return 7;
  printf("client ran on %s\n", aclrtGetSocName());
  return aclFinalize() == ACL_SUCCESS ? 0 : 8;
}
