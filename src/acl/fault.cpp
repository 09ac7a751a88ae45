// SPDX-License-Identifier: Apache-2.0
// Broken memory: what is told of it, and repairs.
#include <algorithm>
#include <vector>

#include "acl/acl_rt_fault.h"
#include "acl/entry.h"

using namespace plat;
using plat::acl::entry;
using plat::acl::Runtime;
using plat::acl::want;

namespace {

// Of the reserved words the driver's interface looks at so many bytes.
constexpr size_t kReservedBytes = 14;

// The memory of a device whose product tells of broken memory.
Result<device::BankId> bank_with_reports(Runtime& runtime, int32_t device) {
  if (!runtime.node.product().device_services)
    return fail(RuleId::ProductSupport, "", "{} does not tell of broken memory",
                runtime.node.product().soc_name);
  PLAT_ASSIGN(physical, runtime.node.physical_id(device, "deviceId"));
  return device::BankId(physical);
}

void tell(const std::vector<Va>& pages, aclrtMemUceInfo* entries) {
  for (size_t i = 0; i < pages.size(); ++i) {
    entries[i] = {};
    entries[i].addr = pointer_of(pages[i]);
    entries[i].len = core::kPageBytes;
  }
}

Result<> repair(Runtime& runtime, device::BankId bank, const aclrtMemUceInfo* entries, size_t count) {
  std::vector<Va> pages;
  for (size_t i = 0; i < count; ++i) pages.push_back(va_of(entries[i].addr));
  return runtime.vmm.repair(bank, pages);
}

}  // namespace

extern "C" {

aclError aclrtGetMemUceInfo(int32_t deviceId, aclrtMemUceInfo* memUceInfoArray, size_t arraySize,
                            size_t* retSize) {
  return entry("aclrtGetMemUceInfo", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(memUceInfoArray, "memUceInfoArray"));
    PLAT_TRY(want(retSize, "retSize"));
    PLAT_ASSIGN(bank, bank_with_reports(runtime, deviceId));
    const std::vector<Va> pages = runtime.vmm.broken_pages(bank);
    if (pages.size() > arraySize)
      return fail(RuleId::RepairRoom, "arraySize", "arraySize is {}, {} ranges are broken", arraySize,
                  pages.size());
    tell(pages, memUceInfoArray);
    *retSize = pages.size();
    return {};
  });
}

aclError aclrtMemUceRepair(int32_t deviceId, aclrtMemUceInfo* memUceInfoArray, size_t arraySize) {
  return entry("aclrtMemUceRepair", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(memUceInfoArray, "memUceInfoArray"));
    if (arraySize > ACL_RT_MEM_UCE_INFO_MAX_NUM)
      return fail(RuleId::RepairRoom, "arraySize", "arraySize is {}", arraySize);
    for (size_t i = 0; i < arraySize; ++i) {
      const auto* bytes = reinterpret_cast<const unsigned char*>(memUceInfoArray[i].reserved);
      if (std::any_of(bytes, bytes + kReservedBytes, [](unsigned char byte) { return byte != 0; }))
        return fail(RuleId::ArgReserved, "memUceInfoArray", "memUceInfoArray[{}].reserved is not 0", i);
    }
    PLAT_ASSIGN(bank, bank_with_reports(runtime, deviceId));
    return repair(runtime, bank, memUceInfoArray, arraySize);
  });
}

aclError aclrtGetErrorVerbose(int32_t deviceId, aclrtErrorInfo* errorInfo) {
  return entry("aclrtGetErrorVerbose", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(errorInfo, "errorInfo"));
    PLAT_ASSIGN(bank, bank_with_reports(runtime, deviceId));
    const std::vector<Va> pages = runtime.vmm.broken_pages(bank);
    *errorInfo = {};
    if (pages.empty()) return {};
    errorInfo->tryRepair = 1;
    errorInfo->hasDetail = 1;
    errorInfo->errorType = ACL_RT_ERROR_MEMORY;
    errorInfo->detail.uceInfo.arraySize = pages.size();
    tell(pages, errorInfo->detail.uceInfo.memUceInfoArray);
    return {};
  });
}

aclError aclrtRepairError(int32_t deviceId, const aclrtErrorInfo* errorInfo) {
  return entry("aclrtRepairError", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(errorInfo, "errorInfo"));
    const aclrtMemUceInfoArray& told = errorInfo->detail.uceInfo;
    if (errorInfo->tryRepair == 0) return fail(RuleId::RepairTold, "errorInfo", "errorInfo->tryRepair is 0");
    PLAT_ASSIGN(bank, bank_with_reports(runtime, deviceId));
    if (errorInfo->errorType != ACL_RT_ERROR_MEMORY || errorInfo->hasDetail == 0 ||
        told.arraySize > ACL_RT_MEM_UCE_INFO_MAX_NUM)
      return fail(RuleId::RepairTold, "errorInfo", "errorType is {}, hasDetail is {}, with {} ranges",
                  static_cast<int>(errorInfo->errorType), errorInfo->hasDetail, told.arraySize);
    return repair(runtime, bank, told.memUceInfoArray, told.arraySize);
  });
}

}  // extern "C"
