// SPDX-License-Identifier: Apache-2.0
// A device that does nothing, so that what is left is the recorder. Each call has a second name, under which
// it is reached past the recorder.
#include "acl/acl.h"

extern "C" {

ACL_FUNC_VISIBILITY aclError null_MemcpyAsync(void*, size_t, const void*, size_t, aclrtMemcpyKind,
                                              aclrtStream) {
  return 0;
}
ACL_FUNC_VISIBILITY aclError null_Malloc(void** p, size_t, aclrtMemMallocPolicy) {
  static uintptr_t next = uintptr_t{16} << 40;
  *p = reinterpret_cast<void*>(next += 512);
  return 0;
}
ACL_FUNC_VISIBILITY aclError null_Free(void*) { return 0; }

aclError aclrtMemcpyAsync(void*, size_t, const void*, size_t, aclrtMemcpyKind, aclrtStream)
    __attribute__((alias("null_MemcpyAsync")));
aclError aclrtMalloc(void**, size_t, aclrtMemMallocPolicy) __attribute__((alias("null_Malloc")));
aclError aclrtFree(void*) __attribute__((alias("null_Free")));
}
