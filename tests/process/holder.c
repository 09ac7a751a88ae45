// SPDX-License-Identifier: Apache-2.0
// holder DEVICE MIB: holds device memory until its standard input ends. Prints "ready" once it does.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "acl/acl.h"

static void check(aclError code) {
  if (code == ACL_SUCCESS) return;
  fprintf(stderr, "%d: %s\n", code, aclGetRecentErrMsg());
  exit(3);
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  check(aclInit(NULL));
  check(aclrtSetDevice(atoi(argv[1])));
  aclrtPhysicalMemProp prop;
  memset(&prop, 0, sizeof prop);
  prop.memAttr = ACL_HBM_MEM_HUGE;
  prop.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
  prop.location.id = (uint32_t)atoi(argv[1]);
  aclrtDrvMemHandle handle = NULL;
  check(aclrtMallocPhysical(&handle, (size_t)atoi(argv[2]) << 20, &prop, 0));
  puts("ready");
  fflush(stdout);
  while (getchar() != EOF) {
  }
  return 0;
}
