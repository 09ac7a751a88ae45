// SPDX-License-Identifier: Apache-2.0
// Host memory: page-locked, and registered for the device.
#include "acl/acl_rt_host.h"

#include "acl/current.h"
#include "acl/entry.h"
#include "acl/malloc_config.h"
#include "os/guard.h"
#include "os/memory.h"
#include "os/page.h"

using namespace plat;
using plat::acl::entry;
using plat::acl::Runtime;
using plat::acl::want;
using plat::acl::want_size;

namespace {

constexpr uint32_t kRegisterTypes = ACL_HOST_REGISTER_IOMEMORY | ACL_HOST_REGISTER_READONLY;
constexpr uint32_t kRegisterFlags =
    ACL_HOST_REG_MAPPED | ACL_HOST_REG_IOMEMORY | ACL_HOST_REG_READONLY | ACL_HOST_REG_PINNED;

Result<> allocate(Runtime& runtime, void** pointer, uint64_t size, const aclrtMallocConfig* config,
                  const char* parameter) {
  PLAT_TRY(want(pointer, parameter));
  PLAT_TRY(want_size(size, "size"));
  PLAT_TRY(acl::current_device(runtime));
  PLAT_TRY(acl::check_host_config(config));
  PLAT_ASSIGN(start, runtime.hosts.allocate(size));
  *pointer = start;
  return {};
}

Result<> want_host_memory(Runtime& runtime, void* ptr) {
  if (!runtime.locator.is_device_address(va_of(ptr))) return {};
  return fail(RuleId::HostRegisterDevice, "ptr", "{} is a device address", fmt::ptr(ptr));
}

// The device reaches whole pages of the system.
Result<> want_whole_pages(void* ptr) {
  if (is_aligned(va_of(ptr).value, os::page_bytes())) return {};
  return fail(RuleId::HostRegisterAligned, "ptr", "{} is no multiple of the system's page of {} bytes",
              fmt::ptr(ptr), os::page_bytes());
}

// All of it is mapped, and both ends can be read; but reading from a device's registers may do something.
Result<> want_existing(void* ptr, uint64_t size, bool io_memory) {
  const uint64_t first = va_of(ptr).value;
  char byte = 0;
  const auto can_be_read = [&](uint64_t at) { return os::copy(&byte, pointer_of(Va{at}), 1); };
  if (size <= UINT64_MAX - first && os::is_mapped(first, size) &&
      (io_memory || (can_be_read(first) && can_be_read(first + size - 1))))
    return {};
  return fail(RuleId::HostRegisterMissing, "ptr", "not all of [{:#x}, +{} bytes) is memory", first, size);
}

}  // namespace

extern "C" {

aclError aclrtMallocHost(void** hostPtr, size_t size) {
  return entry("aclrtMallocHost",
               [&](Runtime& runtime) { return allocate(runtime, hostPtr, size, nullptr, "hostPtr"); });
}

aclError aclrtMallocHostWithCfg(void** ptr, uint64_t size, aclrtMallocConfig* cfg) {
  return entry("aclrtMallocHostWithCfg",
               [&](Runtime& runtime) { return allocate(runtime, ptr, size, cfg, "ptr"); });
}

aclError aclrtFreeHost(void* hostPtr) {
  return entry("aclrtFreeHost", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(hostPtr, "hostPtr"));
    return runtime.hosts.free(hostPtr, "aclrtFreeHost");
  });
}

aclError aclrtFreeHostWithDevSync(void* hostPtr) {
  return entry("aclrtFreeHostWithDevSync", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(hostPtr, "hostPtr"));
    PLAT_TRY(runtime.streams.synchronize_device());
    return runtime.hosts.free(hostPtr, "aclrtFreeHostWithDevSync");
  });
}

aclError aclrtHostRegister(void* ptr, uint64_t size, aclrtHostRegisterType type, void** devPtr) {
  return entry("aclrtHostRegister", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(ptr, "ptr"));
    PLAT_TRY(want(devPtr, "devPtr"));
    PLAT_TRY(want_size(size, "size"));
    if ((static_cast<uint32_t>(type) & ~kRegisterTypes) != 0)
      return fail(RuleId::HostRegisterType, "type", "type is {:#x}", static_cast<unsigned>(type));
    PLAT_TRY(acl::current_device(runtime));
    PLAT_TRY(want_whole_pages(ptr));
    PLAT_TRY(want_host_memory(runtime, ptr));
    PLAT_TRY(want_existing(ptr, size, (type & ACL_HOST_REGISTER_IOMEMORY) != 0));
    PLAT_TRY(runtime.hosts.add(ptr, size, true));
    *devPtr = ptr;  // one address for host and device
    return {};
  });
}

aclError aclrtHostRegisterV2(void* ptr, uint64_t size, uint32_t flag) {
  return entry("aclrtHostRegisterV2", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(ptr, "ptr"));
    PLAT_TRY(want_size(size, "size"));
    if (flag == 0 || (flag & ~kRegisterFlags) != 0)
      return fail(RuleId::HostRegisterFlags, "flag", "flag is {:#x}", flag);
    PLAT_TRY(acl::current_device(runtime));
    const bool mapped = (flag & ~uint32_t{ACL_HOST_REG_PINNED}) != 0;
    PLAT_TRY(runtime.hosts.check(ptr, size, mapped));
    if (mapped) PLAT_TRY(want_whole_pages(ptr));
    PLAT_TRY(want_host_memory(runtime, ptr));
    PLAT_TRY(want_existing(ptr, size, (flag & ACL_HOST_REG_IOMEMORY) != 0));
    return runtime.hosts.add(ptr, size, mapped);
  });
}

aclError aclrtHostGetDevicePointer(void* pHost, void** pDevice, uint32_t flag) {
  return entry("aclrtHostGetDevicePointer", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(pHost, "pHost"));
    PLAT_TRY(want(pDevice, "pDevice"));
    PLAT_TRY(acl::want_zero(flag, "flag"));
    const auto found = runtime.hosts.find(va_of(pHost));
    if (!found || !found->what.mapped)
      return fail(RuleId::HostPointerUnknown, "pHost", "{} is {}", fmt::ptr(pHost),
                  found ? "registered as page-locked only" : "not registered");
    *pDevice = pHost;
    return {};
  });
}

aclError aclrtHostUnregister(void* ptr) {
  return entry("aclrtHostUnregister", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(ptr, "ptr"));
    return runtime.hosts.remove(ptr);
  });
}

aclError aclrtHostMemMapCapabilities(uint32_t deviceId, aclrtHacType hacType,
                                     aclrtHostMemMapCapability* capabilities) {
  return entry("aclrtHostMemMapCapabilities", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(capabilities, "capabilities"));
    PLAT_TRY(runtime.node.physical_id(deviceId, "deviceId"));
    if (static_cast<unsigned>(hacType) > ACL_RT_HAC_TYPE_CCU)
      return fail(RuleId::HostCapabilityEngine, "hacType", "hacType is {}", static_cast<int>(hacType));
    // Only the newest products have the last two engines.
    const bool absent = (hacType == ACL_RT_HAC_TYPE_UDMA || hacType == ACL_RT_HAC_TYPE_CCU) &&
                        report::generation() == rules::Generation::V2;
    *capabilities = absent ? ACL_RT_HOST_MEM_MAP_NOT_SUPPORTED : ACL_RT_HOST_MEM_MAP_SUPPORTED;
    return {};
  });
}

}  // extern "C"
