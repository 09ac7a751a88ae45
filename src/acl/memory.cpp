// SPDX-License-Identifier: Apache-2.0
// Device memory: allocate, free, flush, and what can be asked about an address. Memory information is in
// device.cpp.
#include "acl/acl_rt_memory.h"

#include <cstring>

#include "acl/acl_rt_vmm.h"
#include "acl/config.h"
#include "acl/entry.h"
#include "acl/use.h"

using namespace plat;
using plat::acl::entry;
using plat::acl::Runtime;
using plat::acl::want;
using plat::acl::want_size;
using plat::memory::Call;
using plat::memory::Family;

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
  PLAT_ASSIGN(plan, memory::plan(runtime.node.product(), call, size, static_cast<uint32_t>(policy)));
  PLAT_ASSIGN(device, acl::current_device(runtime));
  PLAT_ASSIGN(attributes, acl::read_config(runtime, config, device));
  PLAT_ASSIGN(start, runtime.heap.allocate(plan, device, attributes.module, family_of(call)));
  *devPtr = pointer_of(start);
  return {};
}

Result<> check_range(Runtime& runtime, void* devPtr, size_t size) {
  PLAT_TRY(want(devPtr, "devPtr"));
  PLAT_TRY(want_size(size, "size"));
  return runtime.mover.check(va_of(devPtr), size, vmm::kNone, "devPtr");
}

bool is_of_kind(Runtime& runtime, Va va, uint32_t kinds) {
  const memory::Location location = runtime.locator.locate(va);
  if (location.place != memory::Place::Device) return false;
  const auto block = runtime.heap.find(va);
  const bool media = block && (block->tag.family == Family::Media || block->tag.family == Family::MediaMpi);
  // The newest products have no media memory apart from ordinary device memory.
  const bool same = report::generation() == rules::Generation::V3;
  if (media && (kinds & ACL_RT_MEM_TYPE_DVPP) != 0) return true;
  return (!media || same) && (kinds & ACL_RT_MEM_TYPE_DEV) != 0;
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

aclError aclrtMemFlush(void* devPtr, size_t size) {
  return entry("aclrtMemFlush", [&](Runtime& runtime) { return check_range(runtime, devPtr, size); });
}

aclError aclrtMemInvalidate(void* devPtr, size_t size) {
  return entry("aclrtMemInvalidate", [&](Runtime& runtime) { return check_range(runtime, devPtr, size); });
}

aclError aclrtGetMemUsageInfo(int32_t deviceId, aclrtMemUsageInfo* memUsageInfo, size_t inputNum,
                              size_t* outputNum) {
  return entry("aclrtGetMemUsageInfo", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(memUsageInfo, "memUsageInfo"));
    PLAT_TRY(want(outputNum, "outputNum"));
    if (inputNum == 0) return fail(RuleId::UsageRoom, "inputNum", "inputNum is 0");
    PLAT_ASSIGN(device, runtime.node.physical_id(deviceId, "deviceId"));
    const auto entries = runtime.heap.usage(device).entries();
    *outputNum = std::min(inputNum, entries.size());
    for (size_t i = 0; i < *outputNum; ++i) {
      memUsageInfo[i] = {};
      std::strncpy(memUsageInfo[i].name, entries[i].name.c_str(), sizeof(memUsageInfo[i].name) - 1);
      memUsageInfo[i].curMemSize = entries[i].current_bytes;
      memUsageInfo[i].memPeakSize = entries[i].peak_bytes;
    }
    return {};
  });
}

aclError aclrtCheckMemType(void** addrList, uint32_t size, uint32_t memType, uint32_t* checkResult,
                           uint32_t reserve) {
  return entry("aclrtCheckMemType", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(addrList, "addrList"));
    PLAT_TRY(want(checkResult, "checkResult"));
    PLAT_TRY(want_size(size, "size"));
    PLAT_TRY(acl::want_zero(reserve, "reserve"));
    if (memType == 0 || (memType & ~(ACL_RT_MEM_TYPE_DEV | ACL_RT_MEM_TYPE_DVPP)) != 0)
      return fail(RuleId::MemTypeMask, "memType", "memType is {:#x}", memType);
    *checkResult = 1;
    for (uint32_t i = 0; i < size; ++i)
      if (!is_of_kind(runtime, va_of(addrList[i]), memType)) *checkResult = 0;
    return {};
  });
}

aclError aclrtPointerGetAttributes(const void* ptr, aclrtPtrAttributes* attributes) {
  return entry("aclrtPointerGetAttributes", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(ptr, "ptr"));
    PLAT_TRY(want(attributes, "attributes"));
    const Va va = va_of(ptr);
    const memory::Location location = runtime.locator.locate(va);
    if (location.is_hole && runtime.vmm.space().reservation_at(va) != vmm::kNone)
      return fail(RuleId::PointerUnmapped, "ptr", "{:#x} is {}", va.value,
                  vmm::describe(runtime.vmm.space(), va));
    *attributes = {};
    attributes->location.type = ACL_MEM_LOCATION_TYPE_UNREGISTERED;
    attributes->pageSize = static_cast<uint32_t>(memory::kNormalPageBytes);
    if (location.place == memory::Place::Host) {
      attributes->location.type = ACL_MEM_LOCATION_TYPE_HOST;
    } else if (location.place == memory::Place::Device) {
      const auto page_bytes = runtime.locator.page_bytes(va);
      if (!page_bytes) return {};  // small pages that are free just now
      attributes->location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
      attributes->location.id = static_cast<uint32_t>(runtime.node.logical_id(location.bank));
      attributes->pageSize = static_cast<uint32_t>(*page_bytes);
    }
    return {};
  });
}

aclError aclrtMemGetAddressRange(void* ptr, void** pbase, size_t* psize) {
  return entry("aclrtMemGetAddressRange", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(ptr, "ptr"));
    if (pbase == nullptr && psize == nullptr)
      return fail(RuleId::AddressRangeArguments, "pbase", "pbase and psize are null");
    PLAT_ASSIGN(range, runtime.locator.range_around(va_of(ptr)));
    if (pbase != nullptr) *pbase = pointer_of(range.start);
    if (psize != nullptr) *psize = range.size_bytes;
    return {};
  });
}

}  // extern "C"
