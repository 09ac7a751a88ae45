// SPDX-License-Identifier: Apache-2.0
// Access: which devices may use a mapping, and whether the host may.
#include "device/report.h"
#include "rules/rules.h"
#include "vmm/vmm.h"

namespace plat::vmm {

using device::kHostBank;

Result<> Vmm::set_access(Va start, uint64_t size_bytes, std::span<const aclrtMemAccessDesc> grants) {
  uint64_t devices = 0;
  bool host = false;
  for (size_t i = 0; i < grants.size(); ++i) {
    const aclrtMemAccessDesc& grant = grants[i];
    const auto at = [&](const char* field) { return fmt::format("desc[{}].{}", i, field); };
    const int flags = static_cast<int>(grant.flags);
    if (flags == ACL_RT_MEM_ACCESS_FLAGS_NONE || flags == ACL_RT_MEM_ACCESS_FLAGS_READ)
      return fail(RuleId::AccessFlags, at("flags"), "flags is {}", flags);
    if (flags != ACL_RT_MEM_ACCESS_FLAGS_READWRITE)
      return fail(RuleId::AccessArguments, at("flags"), "flags is {}", flags);
    const auto type = static_cast<int>(grant.location.type);
    const uint32_t id = grant.location.id;
    if ((type != ACL_MEM_LOCATION_TYPE_HOST && type != ACL_MEM_LOCATION_TYPE_DEVICE) ||
        (type == ACL_MEM_LOCATION_TYPE_HOST && id != 0) || (type == ACL_MEM_LOCATION_TYPE_DEVICE && id >= 64))
      return fail(RuleId::AccessLocation, at("location"), "location is type {}, id {}", type, id);
    const bool already = type == ACL_MEM_LOCATION_TYPE_HOST ? host : (devices >> id & 1) != 0;
    if (already && report::generation() == rules::Generation::V3)
      return fail(RuleId::AccessArguments, at("location"), "the same location stands twice in the array");
    if (type == ACL_MEM_LOCATION_TYPE_HOST) {
      host = true;
    } else if (node_.logical_id(id) < 0) {
      return fail(RuleId::AccessDevice, at("location.id"), "no visible device has the driver's id {}", id);
    } else {
      devices |= uint64_t{1} << id;
    }
  }
  const std::lock_guard lock(mutex_);
  const PageEntry entry = space_.entry(start);
  Mapping* mapping = entry.has_mapping() ? space_.mapping(entry.mapping()) : nullptr;
  if (mapping == nullptr || mapping->kind.load(std::memory_order_relaxed) != MappingKind::Client ||
      mapping->start.load(std::memory_order_relaxed) != start.value ||
      mapping->size_bytes.load(std::memory_order_relaxed) != size_bytes)
    return fail(RuleId::AccessRange, "virPtr", "[{:#x}, {:#x}) is not one mapping", start.value,
                start.value + size_bytes);
  if (host && entry.tag() == PageEntry::Remote)
    return fail(RuleId::FabricHost, "desc", "the memory at {:#x} is of server {}", start.value,
                remote(*mapping).server());
  const device::BankId owner = mapping->bank();
  const bool host_owned = owner == kHostBank;
  if (!host_owned && (devices & ~(uint64_t{1} << owner.value)) != 0 && !node_.product().peer_access)
    return fail(RuleId::ProductSupport, "desc",
                "{} has no peer access, and the memory at {:#x} is of device {}", node_.product().soc_name,
                start.value, node_.logical_id(owner.value));
  if (host && host_owned && mapping->host_access.load(std::memory_order_relaxed))
    return fail(RuleId::AccessHostToHost, "desc", "the memory at {:#x} lies on the host", start.value);
  if (host && !mapping->host_access.load(std::memory_order_relaxed)) {
    if (mapping->host_pieces == 0) PLAT_TRY(expose_to_host(*mapping));
    mapping->host_access.store(true, std::memory_order_release);
  }
  mapping->device_access.fetch_or(devices, std::memory_order_acq_rel);
  return {};
}

Result<bool> Vmm::has_access(Va va, const aclrtMemLocation& location) {
  const auto type = static_cast<int>(location.type);
  if ((type != ACL_MEM_LOCATION_TYPE_HOST && type != ACL_MEM_LOCATION_TYPE_DEVICE) ||
      (type == ACL_MEM_LOCATION_TYPE_HOST && location.id != 0) ||
      (type == ACL_MEM_LOCATION_TYPE_DEVICE && location.id >= 64))
    return fail(RuleId::AccessLocation, "location", "location is type {}, id {}", type, location.id);
  const std::lock_guard lock(mutex_);
  const PageEntry entry = space_.entry(va);
  if (!entry.has_mapping())
    return fail(RuleId::AccessUnmapped, "virPtr", "nothing is mapped at {:#x}", va.value);
  const Mapping& mapping = space_.live_mapping(entry.mapping());
  if (type == ACL_MEM_LOCATION_TYPE_HOST) return mapping.host_access.load(std::memory_order_relaxed);
  return (mapping.device_access.load(std::memory_order_relaxed) >> location.id & 1) != 0;
}

}  // namespace plat::vmm
