// SPDX-License-Identifier: Apache-2.0
// Access and queries of the model.
#include "support/vmm_model.h"

namespace plat::test {

namespace {

bool known_location(const aclrtMemLocation& location) {
  const int type = static_cast<int>(location.type);
  return (type == ACL_MEM_LOCATION_TYPE_HOST && location.id == 0) ||
         (type == ACL_MEM_LOCATION_TYPE_DEVICE && location.id < 64);
}

}  // namespace

Verdict VmmModel::set_access(uint64_t start, uint64_t size, const aclrtMemAccessDesc* grants,
                             uint64_t count) {
  if (start == 0 || size == 0 || grants == nullptr || count == 0)
    return broken(RuleId::AccessArguments, 107000);
  uint64_t devices = 0;
  bool host = false;
  for (uint64_t i = 0; i < count; ++i) {
    const int flags = static_cast<int>(grants[i].flags);
    const aclrtMemLocation& location = grants[i].location;
    if (flags == 0 || flags == 1) return broken(RuleId::AccessFlags, 207000);
    if (flags != 3) return broken(RuleId::AccessArguments, 107000);
    if (!known_location(location)) return broken(RuleId::AccessLocation, 107000);
    const bool to_host = location.type == ACL_MEM_LOCATION_TYPE_HOST;
    if (is_v3() && (to_host ? host : (devices >> location.id & 1) != 0))
      return broken(RuleId::AccessArguments, 107000);
    if (!to_host && location.id >= settings_.devices) return broken(RuleId::AccessDevice, 507899);
    if (to_host) host = true;
    if (!to_host) devices |= uint64_t{1} << location.id;
  }
  const auto inside = around(start);
  if (inside == reservations_.end()) return broken(RuleId::AccessRange, 507899);
  auto& mappings = reservations_.at(inside->first).mappings;
  const auto mapping = mappings.find(start);
  if (mapping == mappings.end() || mapping->second.size_bytes != size)
    return broken(RuleId::AccessRange, 507899);
  const bool host_owns = blocks_.at(mapping->second.handle).owner == kHost;
  if (host && host_owns && mapping->second.host_access) return broken(RuleId::AccessHostToHost, 207000);
  mapping->second.host_access |= host;
  mapping->second.device_access |= devices;
  return {};
}

Verdict VmmModel::get_access(uint64_t va, const aclrtMemLocation* location, const void* output,
                             uint64_t& flags) const {
  if (va == 0 || location == nullptr || output == nullptr) return broken(RuleId::ArgNull, 100000);
  if (!known_location(*location)) return broken(RuleId::AccessLocation, 107000);
  const Mapping* mapping = mapping_around(va);
  if (mapping == nullptr) return broken(RuleId::AccessUnmapped, 507899);
  const bool granted = location->type == ACL_MEM_LOCATION_TYPE_HOST
                           ? mapping->host_access
                           : (mapping->device_access >> location->id & 1) != 0;
  flags = granted ? 3 : 0;
  return {};
}

Verdict VmmModel::retain(uint64_t va, const void* output, uint64_t& handle) {
  if (va == 0 || output == nullptr) return broken(RuleId::ArgNull, 100000);
  uint64_t start = 0;
  const Mapping* mapping = mapping_around(va, &start);
  if (mapping == nullptr && around(va) != reservations_.end()) return broken(RuleId::RetainUnmapped, 507899);
  if (mapping == nullptr || (start != va && !is_v3())) return broken(RuleId::RetainStart, 507899, 107000);
  handle = mapping->handle;
  blocks_.at(handle).references += 1;
  return {};
}

Verdict VmmModel::properties(uint64_t handle, const void* output, aclrtPhysicalMemProp& prop) const {
  if (handle == 0 || output == nullptr) return broken(RuleId::ArgNull, 100000);
  const auto block = blocks_.find(handle);
  if (block == blocks_.end()) return broken(RuleId::HandleStale, 107017);
  prop = block->second.prop;
  return {};
}

Verdict VmmModel::granularity(const aclrtPhysicalMemProp* prop, int option, const void* output,
                              uint64_t& bytes) const {
  if (prop == nullptr || output == nullptr) return broken(RuleId::ArgNull, 100000);
  // Of the rest of the property the call takes no notice.
  if (const Verdict verdict = check_attribute(*prop); !verdict.ok()) return verdict;
  if (prop->location.type == ACL_MEM_LOCATION_TYPE_DEVICE && prop->location.id >= settings_.devices)
    return broken(RuleId::DeviceId, 107001);
  if (option != 0 && option != 1) return broken(RuleId::GranularityOption, 207000);
  if (const Verdict verdict = check_pages(*prop); !verdict.ok()) return verdict;
  bytes = page_bytes(prop->memAttr);
  return {};
}

}  // namespace plat::test
