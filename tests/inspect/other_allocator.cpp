// SPDX-License-Identifier: Apache-2.0
#include "inspect/other_allocator.h"

#include "acl/acl.h"

void* other_allocate(size_t size) {
  void* memory = nullptr;
  return aclrtMalloc(&memory, size, ACL_MEM_MALLOC_HUGE_FIRST) == ACL_SUCCESS ? memory : nullptr;
}
