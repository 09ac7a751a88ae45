// SPDX-License-Identifier: Apache-2.0
// Device memory: allocate, free, flush. What can be asked about it is in memory_info.cpp.
#include "acl/acl_rt_memory.h"

#include "acl/current.h"
#include "acl/entry.h"
#include "acl/malloc_config.h"

using namespace plat;
using plat::acl::entry;
using plat::acl::Runtime;
using plat::acl::want;
using plat::acl::want_size;
using plat::malloc::Call;
using plat::malloc::Family;

namespace {

Family family_of(Call call) {
  return call == Call::Cached          ? Family::Cached
         : call == Call::TaskScheduler ? Family::TaskScheduler
                                       : Family::Device;
}

Result<> allocate(Runtime& runtime, void** devPtr, size_t size, aclrtMemMallocPolicy policy, Call call,
                  const aclrtMallocConfig* config) {
  PLAT_TRY(want(devPtr, "devPtr"));
  PLAT_TRY(want_size(size, "size"));
  PLAT_TRY(acl::check_config_array(config));
  PLAT_ASSIGN(wanted, malloc::request_for(runtime.node.product(), call, size, static_cast<uint32_t>(policy)));
  PLAT_ASSIGN(device, acl::current_device(runtime));
  PLAT_ASSIGN(attributes, acl::read_config(runtime, config, device));
  PLAT_ASSIGN(start, runtime.allocate(wanted, device, attributes.module, family_of(call)));
  *devPtr = pointer_of(start);
  return {};
}

Result<> check_range(Runtime& runtime, void* devPtr, size_t size) {
  PLAT_TRY(want(devPtr, "devPtr"));
  PLAT_TRY(want_size(size, "size"));
  return runtime.mover.check(va_of(devPtr), size, vmm::kNone, "devPtr");
}

Result<> free_device(Runtime& runtime, void* devPtr, const char* how) {
  // Memory of a pool goes back to its pool.
  if (runtime.pools.free_now(va_of(devPtr))) return {};
  if (auto freed = runtime.managed.free(va_of(devPtr))) return *freed;
  auto freed = runtime.heap.free(va_of(devPtr), malloc::Family::Device, how);
  if (!freed && freed.error().rule == RuleId::FreeUnknown && runtime.hosts.is_page_locked(va_of(devPtr)))
    freed.error().detail =
        fmt::format("{} is page-locked memory of the host, which aclrtFreeHost frees", fmt::ptr(devPtr));
  return freed;
}

}  // namespace

extern "C" {

aclError aclrtMalloc(void** devPtr, size_t size, aclrtMemMallocPolicy policy) {
  return entry("aclrtMalloc", [&](Runtime& runtime) {
    return allocate(runtime, devPtr, size, policy, Call::Malloc, nullptr);
  });
}

aclError aclrtMallocAlign32(void** devPtr, size_t size, aclrtMemMallocPolicy policy) {
  return entry("aclrtMallocAlign32", [&](Runtime& runtime) {
    return allocate(runtime, devPtr, size, policy, Call::Align32, nullptr);
  });
}

aclError aclrtMallocCached(void** devPtr, size_t size, aclrtMemMallocPolicy policy) {
  return entry("aclrtMallocCached", [&](Runtime& runtime) {
    return allocate(runtime, devPtr, size, policy, Call::Cached, nullptr);
  });
}

aclError aclrtMallocWithCfg(void** devPtr, size_t size, aclrtMemMallocPolicy policy, aclrtMallocConfig* cfg) {
  return entry("aclrtMallocWithCfg", [&](Runtime& runtime) {
    return allocate(runtime, devPtr, size, policy, Call::WithConfig, cfg);
  });
}

aclError aclrtMallocForTaskScheduler(void** devPtr, size_t size, aclrtMemMallocPolicy policy,
                                     aclrtMallocConfig* cfg) {
  return entry("aclrtMallocForTaskScheduler", [&](Runtime& runtime) {
    return allocate(runtime, devPtr, size, policy, Call::TaskScheduler, cfg);
  });
}

aclError aclrtFree(void* devPtr) {
  return entry("aclrtFree", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(devPtr, "devPtr"));
    return free_device(runtime, devPtr, "aclrtFree");
  });
}

aclError aclrtFreeWithDevSync(void* devPtr) {
  return entry("aclrtFreeWithDevSync", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(devPtr, "devPtr"));
    PLAT_TRY(runtime.streams.synchronize_device());
    return free_device(runtime, devPtr, "aclrtFreeWithDevSync");
  });
}

aclError aclrtMemFlush(void* devPtr, size_t size) {
  return entry("aclrtMemFlush", [&](Runtime& runtime) { return check_range(runtime, devPtr, size); });
}

aclError aclrtMemInvalidate(void* devPtr, size_t size) {
  return entry("aclrtMemInvalidate", [&](Runtime& runtime) { return check_range(runtime, devPtr, size); });
}

}  // extern "C"
