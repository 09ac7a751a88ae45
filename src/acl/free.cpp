// Freeing, at once or after the device has come to rest.
#include "acl/acl_rt_host.h"
#include "acl/acl_rt_memory.h"
#include "acl/entry.h"
#include "acl/use.h"

using namespace plat;
using plat::acl::entry;
using plat::acl::Runtime;
using plat::acl::want;

namespace {

Result<> free_device(Runtime& runtime, void* devPtr, const char* how) {
  // Memory of a pool goes back to its pool.
  if (runtime.pools.free_now(va_of(devPtr))) return {};
  auto freed = runtime.free_block(va_of(devPtr), memory::Family::Device, how);
  if (!freed && freed.error().rule == RuleId::FreeUnknown && runtime.hosts.is_page_locked(va_of(devPtr)))
    freed.error().detail =
        fmt::format("{} is page-locked memory of the host, which aclrtFreeHost frees", fmt::ptr(devPtr));
  return freed;
}

}  // namespace

extern "C" {

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

aclError aclrtFreeHostWithDevSync(void* hostPtr) {
  return entry("aclrtFreeHostWithDevSync", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(hostPtr, "hostPtr"));
    PLAT_TRY(runtime.streams.synchronize_device());
    return runtime.hosts.free(hostPtr, "aclrtFreeHostWithDevSync");
  });
}

}  // extern "C"
