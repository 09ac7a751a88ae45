// SPDX-License-Identifier: Apache-2.0
// A library of a user's, to be preloaded or linked: an allocator that answers the program's calls from one
// large block of the device.
#include <dlfcn.h>

#include <cstddef>
#include <mutex>

#include "acl/acl.h"

namespace {

constexpr size_t kSlab = size_t{8} << 20;
constexpr size_t kUnit = 4096;

std::mutex g_mutex;
char* g_slab = nullptr;
size_t g_used = 0;
size_t g_live = 0;

}  // namespace

extern "C" __attribute__((visibility("default"))) aclError aclrtMalloc(void** out, size_t size,
                                                                       aclrtMemMallocPolicy policy) {
  const std::lock_guard lock(g_mutex);
  if (g_slab == nullptr) {
    const auto real = reinterpret_cast<decltype(&aclrtMalloc)>(dlsym(RTLD_NEXT, "aclrtMalloc"));
    void* slab = nullptr;
    if (const aclError code = real(&slab, kSlab, policy); code != ACL_SUCCESS) return code;
    g_slab = static_cast<char*>(slab);
    g_used = 0;
  }
  *out = g_slab + g_used;
  g_used += (size + kUnit - 1) / kUnit * kUnit;
  ++g_live;
  return ACL_SUCCESS;
}

extern "C" __attribute__((visibility("default"))) aclError aclrtFree(void*) {
  const std::lock_guard lock(g_mutex);
  if (--g_live != 0) return ACL_SUCCESS;
  const auto real = reinterpret_cast<decltype(&aclrtFree)>(dlsym(RTLD_NEXT, "aclrtFree"));
  void* const slab = g_slab;
  g_slab = nullptr;
  return real(slab);
}
