// SPDX-License-Identifier: Apache-2.0
// inspect_lookup LIBRARY: finds its calls at run time, as ctypes does, and forgets a block.
#include <dlfcn.h>

#include <cstdio>

#include "acl/acl.h"

int main(int, char** argv) {
  void* const library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return 97;
  const auto initialize = reinterpret_cast<decltype(&aclInit)>(dlsym(library, "aclInit"));
  const auto set_device = reinterpret_cast<decltype(&aclrtSetDevice)>(dlsym(library, "aclrtSetDevice"));
  const auto allocate = reinterpret_cast<decltype(&aclrtMalloc)>(dlsym(library, "aclrtMalloc"));
  if (initialize == nullptr || set_device == nullptr || allocate == nullptr) return 97;
  // What depends on who asks is answered as without the recorder.
  if (dlsym(RTLD_NEXT, "main") != nullptr || dlsym(library, "aclrtNoSuchCall") != nullptr) return 97;
  void* memory = nullptr;
  return initialize(nullptr) == 0 && set_device(0) == 0 &&
                 allocate(&memory, 4096, ACL_MEM_MALLOC_HUGE_FIRST) == 0
             ? 0
             : 97;
}
