// SPDX-License-Identifier: Apache-2.0
// The same from C++, with a mistake in it, to see the message arrive.
#include <acl/acl.h>

#include <iostream>
#include <string>

int main() {
  if (aclInit(nullptr) != ACL_SUCCESS || aclrtSetDevice(0) != ACL_SUCCESS) return 1;
  aclrtPhysicalMemProp prop{};
  prop.memAttr = ACL_HBM_MEM_HUGE;
  prop.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
  aclrtDrvMemHandle handle = nullptr;
  if (aclrtMallocPhysical(&handle, 1000, &prop, 0) == ACL_SUCCESS) return 2;
  const std::string message = aclGetRecentErrMsg();
  if (message.find("VMM-Physical-size-granule") == std::string::npos) return 3;
  std::cout << "client ran on " << aclrtGetSocName() << "\n";
  return aclFinalize() == ACL_SUCCESS ? 0 : 4;
}
