// SPDX-License-Identifier: Apache-2.0
// Media memory, by both of its names.
#include "acl/acl_rt_memory.h"
#include "acl/current.h"
#include "acl/dvpp/hi_dvpp.h"
#include "acl/entry.h"
#include "acl/malloc_config.h"
#include "acl/ops/acl_dvpp.h"

using namespace plat;
using plat::acl::entry;
using plat::acl::Runtime;
using plat::acl::want;
using plat::acl::want_size;
using plat::malloc::Family;

namespace {

Result<> allocate(Runtime& runtime, void** pointer, uint64_t size, const aclrtMallocConfig* config,
                  Family family, const char* parameter) {
  PLAT_TRY(want(pointer, parameter));
  PLAT_TRY(want_size(size, "size"));
  PLAT_TRY(acl::check_config_array(config));
  PLAT_ASSIGN(wanted, malloc::request_for(runtime.node.product(), malloc::Call::Media, size, 0));
  PLAT_ASSIGN(device, acl::current_device(runtime));
  PLAT_ASSIGN(attributes, acl::read_config(runtime, config, device));
  PLAT_ASSIGN(start, runtime.allocate(wanted, device, attributes.module, family));
  *pointer = pointer_of(start);
  return {};
}

}  // namespace

extern "C" {

aclError acldvppMalloc(void** devPtr, size_t size) {
  return entry("acldvppMalloc", [&](Runtime& runtime) {
    return allocate(runtime, devPtr, size, nullptr, Family::Media, "devPtr");
  });
}

aclError acldvppMallocWithCfg(void** devPtr, size_t size, aclrtMallocConfig* cfg) {
  return entry("acldvppMallocWithCfg", [&](Runtime& runtime) {
    return allocate(runtime, devPtr, size, cfg, Family::Media, "devPtr");
  });
}

aclError acldvppFree(void* devPtr) {
  return entry("acldvppFree", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(devPtr, "devPtr"));
    return runtime.heap.free(va_of(devPtr), Family::Media, "acldvppFree");
  });
}

hi_s32 hi_mpi_dvpp_malloc(hi_u32 /*dev_id: reserved, the current device is used*/, hi_void** dev_ptr,
                          hi_u64 size) {
  return entry("hi_mpi_dvpp_malloc", [&](Runtime& runtime) {
    return allocate(runtime, dev_ptr, size, nullptr, Family::MediaMpi, "dev_ptr");
  });
}

hi_s32 hi_mpi_dvpp_free(hi_void* dev_ptr) {
  return entry("hi_mpi_dvpp_free", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(dev_ptr, "dev_ptr"));
    return runtime.heap.free(va_of(dev_ptr), Family::MediaMpi, "hi_mpi_dvpp_free");
  });
}

}  // extern "C"
