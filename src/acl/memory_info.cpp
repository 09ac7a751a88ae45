// SPDX-License-Identifier: Apache-2.0
// What can be asked about device memory: how much there is, who took it, what an address is.
#include <algorithm>
#include <cstring>

#include "acl/acl_rt_memory.h"
#include "acl/current.h"
#include "acl/entry.h"

using namespace plat;
using plat::acl::entry;
using plat::acl::Runtime;
using plat::acl::want;
using plat::acl::want_size;
using plat::malloc::Family;

namespace {

// Of aclrtCheckMemType; nothing is of the last kind, which has no name.
constexpr uint32_t kMemTypes = ACL_RT_MEM_TYPE_DEV | ACL_RT_MEM_TYPE_DVPP | 0x20;

// The memory that an attribute asks about.
bool is_present(const device::Product& product, aclrtMemAttr attribute) {
  switch (attribute) {
    case ACL_HBM_MEM_HUGE1G:
    case ACL_MEM_HUGE1G:
    case ACL_MEM_P2P_HUGE1G:
    case ACL_HBM_MEM_P2P_HUGE1G:
      return product.giant_pages;
    case ACL_DDR_MEM:
    case ACL_DDR_MEM_HUGE:
    case ACL_DDR_MEM_NORMAL:
      return !product.has_hbm;
    case ACL_DDR_MEM_P2P_HUGE:
    case ACL_DDR_MEM_P2P_NORMAL:
      return !product.has_hbm && product.peer_access;
    case ACL_HBM_MEM_P2P_HUGE:
    case ACL_HBM_MEM_P2P_NORMAL:
    case ACL_MEM_P2P_NORMAL:
    case ACL_MEM_P2P_HUGE:
      return product.peer_access;
    default:
      return true;  // a question about HBM is answered with DDR where there is no HBM
  }
}

bool counts_whole_pages(aclrtMemAttr attribute) {
  switch (attribute) {
    case ACL_DDR_MEM:
    case ACL_HBM_MEM:
    case ACL_DDR_MEM_NORMAL:
    case ACL_HBM_MEM_NORMAL:
    case ACL_MEM_NORMAL:
    case ACL_DDR_MEM_P2P_NORMAL:
    case ACL_HBM_MEM_P2P_NORMAL:
    case ACL_MEM_P2P_NORMAL:
      return false;
    default:
      return true;
  }
}

bool is_of_kind(Runtime& runtime, Va va, uint32_t kinds) {
  const malloc::Location location = runtime.locator.locate(va);
  if (location.side != malloc::Side::Device) return false;
  const auto block = runtime.heap.find(va);
  const bool media = block && (block->tag.family == Family::Media || block->tag.family == Family::MediaMpi);
  // The newest products have no media memory apart from ordinary device memory.
  const bool same = report::generation() == rules::Generation::V3;
  if (media && (kinds & ACL_RT_MEM_TYPE_DVPP) != 0) return true;
  return (!media || same) && (kinds & ACL_RT_MEM_TYPE_DEV) != 0;
}

}  // namespace

extern "C" {

aclError aclrtGetMemInfo(aclrtMemAttr attr, size_t* free, size_t* total) {
  return entry("aclrtGetMemInfo", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(free, "free"));
    PLAT_TRY(want(total, "total"));
    PLAT_ASSIGN(device, acl::current_device(runtime));
    if (static_cast<unsigned>(attr) > ACL_MEM_P2P_HUGE1G)
      return fail(RuleId::MemInfoAttribute, "attr", "attr is {}", static_cast<int>(attr));
    if (!is_present(runtime.node.product(), attr)) {
      *free = *total = 0;
      return {};
    }
    PLAT_ASSIGN(bank, runtime.node.bank(device::BankId(device)));
    const device::Usage usage = bank->ledger().usage();
    *free = counts_whole_pages(attr) ? usage.free_page_bytes : usage.free_bytes;
    *total = usage.total_bytes;
    return {};
  });
}

aclError aclrtGetMemUsageInfo(int32_t deviceId, aclrtMemUsageInfo* memUsageInfo, size_t inputNum,
                              size_t* outputNum) {
  return entry("aclrtGetMemUsageInfo", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(memUsageInfo, "memUsageInfo"));
    PLAT_TRY(want(outputNum, "outputNum"));
    if (inputNum == 0) return fail(RuleId::UsageRoom, "inputNum", "inputNum is 0");
    PLAT_ASSIGN(device, runtime.node.physical_id(deviceId, "deviceId"));
    const auto entries = runtime.heap.usage(device::BankId(device)).entries();
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
    *checkResult = 0;
    if (reserve != 0 || size == 0)
      return fail(RuleId::MemTypeArguments, reserve != 0 ? "reserve" : "size", "size is {}, reserve is {}",
                  size, reserve);
    if ((memType & ~kMemTypes) != 0) return fail(RuleId::MemTypeMask, "memType", "memType is {:#x}", memType);
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
    PLAT_TRY(report::check_soft(runtime.node.was_ever_open(), RuleId::PointerNoDevice, "ptr",
                                "this process has opened no device yet"));
    const Va va = va_of(ptr);
    const malloc::Location location = runtime.locator.locate(va);
    if (runtime.locator.is_managed(va, location)) {
      *attributes = {};
      attributes->location.type = ACL_MEM_LOCATION_TYPE_MANAGED;
      attributes->pageSize = static_cast<uint32_t>(malloc::kManagedPageBytes);
      return {};
    }
    const bool nothing_there = location.is_hole || (location.side == malloc::Side::Unregistered &&
                                                    malloc::ManagedHeap::is_in_window(va));
    const auto page_bytes =
        location.side == malloc::Side::Device ? runtime.locator.page_bytes(va) : std::nullopt;
    if (nothing_there || (location.side == malloc::Side::Device && !page_bytes))
      return fail(RuleId::PointerUnmapped, "ptr", "{:#x} is {}", va.value,
                  nothing_there ? vmm::describe(runtime.vmm.space(), va) : "free at present");
    *attributes = {};
    attributes->location.type = ACL_MEM_LOCATION_TYPE_UNREGISTERED;
    attributes->pageSize = static_cast<uint32_t>(malloc::kNormalPageBytes);
    if (location.side == malloc::Side::Host) {
      attributes->location.type = ACL_MEM_LOCATION_TYPE_HOST;
    } else if (location.side == malloc::Side::Device) {
      attributes->location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
      attributes->location.id = static_cast<uint32_t>(runtime.node.logical_id(location.bank.value));
      attributes->pageSize = static_cast<uint32_t>(*page_bytes);
    }
    return {};
  });
}

}  // extern "C"
