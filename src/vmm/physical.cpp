// SPDX-License-Identifier: Apache-2.0
#include "vmm/physical.h"

#include "base/units.h"
#include "device/report.h"
#include "os/file.h"
#include "rules/rules.h"

namespace plat::vmm {

namespace {

constexpr uint64_t kHandleTag = 0x50;
constexpr uint64_t kTagMask = 0xFF;
constexpr unsigned kIndexShift = 8;
constexpr unsigned kGenerationShift = 40;  // 24 bits above it, as core::GenerationTable has

PhysicalHandle encode(core::Handle handle) {
  return {uint64_t{handle.generation} << kGenerationShift | uint64_t{handle.index} << kIndexShift |
          kHandleTag};
}

bool is_peer_attribute(aclrtMemAttr attribute) {
  return attribute == ACL_MEM_P2P_NORMAL || attribute == ACL_MEM_P2P_HUGE ||
         attribute == ACL_MEM_P2P_HUGE1G || attribute == ACL_DDR_MEM_P2P_NORMAL ||
         attribute == ACL_DDR_MEM_P2P_HUGE;
}

bool is_ddr_attribute(aclrtMemAttr attribute) {
  return attribute == ACL_DDR_MEM || attribute == ACL_DDR_MEM_HUGE || attribute == ACL_DDR_MEM_NORMAL ||
         attribute == ACL_DDR_MEM_P2P_HUGE || attribute == ACL_DDR_MEM_P2P_NORMAL;
}

}  // namespace

bool is_giant(aclrtMemAttr attribute) {
  return attribute == ACL_HBM_MEM_HUGE1G || attribute == ACL_MEM_HUGE1G || attribute == ACL_MEM_P2P_HUGE1G;
}

bool asks_normal_pages(aclrtMemAttr attribute) {
  return attribute == ACL_DDR_MEM_NORMAL || attribute == ACL_HBM_MEM_NORMAL || attribute == ACL_MEM_NORMAL ||
         attribute == ACL_DDR_MEM_P2P_NORMAL || attribute == ACL_MEM_P2P_NORMAL;
}

Physical* PhysicalTable::add(PhysicalHandle& handle) {
  const core::Handle taken = table_.take();
  if (!taken) return nullptr;
  handle = encode(taken);
  Physical& entry = table_.at(taken.index);
  entry = Physical{};
  entry.references = 1;
  return &entry;
}

Result<HandleIndex> PhysicalTable::find(PhysicalHandle handle, std::string_view parameter) {
  const core::Handle wanted{static_cast<uint32_t>(handle.value >> kIndexShift),
                            static_cast<uint32_t>(handle.value >> kGenerationShift)};
  if ((handle.value & kTagMask) != kHandleTag || !table_.handle_at(wanted.index))
    return fail(RuleId::HandleStale, parameter, "{:#x} is no handle of this process", handle.value);
  if (!table_.is_live(wanted))
    return fail(RuleId::HandleStale, parameter, "handle {:#x} was freed", handle.value);
  return HandleIndex(wanted.index);
}

PhysicalHandle PhysicalTable::handle_of(HandleIndex index) { return encode(table_.handle_at(index.value)); }

HandleIndex PhysicalTable::find_import(const device::Bank* bank, device::BlockId block, uint64_t reach) {
  HandleIndex found = HandleIndex::none();
  for_each_live([&](HandleIndex index, const Physical& entry) {
    if (found == HandleIndex::none() && entry.imported && entry.bank == bank && entry.block == block &&
        entry.extra_access == reach)
      found = index;
  });
  return found;
}

Result<> check_attribute(const aclrtPhysicalMemProp& prop) {
  const aclrtMemAttr attribute = prop.memAttr;
  const bool on_device = prop.location.type == ACL_MEM_LOCATION_TYPE_DEVICE;
  const bool summary = attribute == ACL_DDR_MEM || attribute == ACL_HBM_MEM ||
                       attribute == ACL_HBM_MEM_P2P_HUGE || attribute == ACL_HBM_MEM_P2P_NORMAL ||
                       attribute == ACL_HBM_MEM_P2P_HUGE1G;
  if (summary || static_cast<unsigned>(attribute) > ACL_MEM_P2P_HUGE1G ||
      (on_device && is_ddr_attribute(attribute)))
    return fail(RuleId::PhysicalAttribute, "prop->memAttr", "memAttr is {} for memory on {}",
                static_cast<int>(attribute), on_device ? "a device" : "the host");
  return {};
}

Result<> check_arguments(const aclrtPhysicalMemProp& prop) {
  const auto location = prop.location.type;
  if (prop.handleType != ACL_MEM_HANDLE_TYPE_NONE)
    return fail(RuleId::ArgEnum, "prop->handleType",
                "handleType is {}, only ACL_MEM_HANDLE_TYPE_NONE (0) is known",
                static_cast<int>(prop.handleType));
  if (prop.allocationType != ACL_MEM_ALLOCATION_TYPE_PINNED)
    return fail(RuleId::ArgEnum, "prop->allocationType",
                "allocationType is {}, only ACL_MEM_ALLOCATION_TYPE_PINNED (0) is known",
                static_cast<int>(prop.allocationType));
  if (location != ACL_MEM_LOCATION_TYPE_DEVICE && location != ACL_MEM_LOCATION_TYPE_HOST &&
      location != ACL_MEM_LOCATION_TYPE_HOST_NUMA)
    return fail(RuleId::PhysicalLocation, "prop->location.type", "location.type is {}",
                static_cast<int>(location));
  return check_attribute(prop);
}

Result<uint64_t> page_bytes_of(device::Node& node, const aclrtPhysicalMemProp& prop) {
  const aclrtMemAttr attribute = prop.memAttr;
  if (prop.location.type == ACL_MEM_LOCATION_TYPE_DEVICE) {
    if (is_giant(attribute) && !node.product().giant_pages)
      return fail(RuleId::ProductSupport, "prop->memAttr", "{} has no 1 GiB pages (memAttr {})",
                  node.product().soc_name, static_cast<int>(attribute));
    if (is_peer_attribute(attribute) && !node.product().peer_access)
      return fail(RuleId::ProductSupport, "prop->memAttr",
                  "{} has no memory that other devices reach (memAttr {})", node.product().soc_name,
                  static_cast<int>(attribute));
  } else if (is_giant(attribute) && (attribute != ACL_MEM_P2P_HUGE1G || !node.product().giant_pages)) {
    return fail(RuleId::ProductSupport, "prop->memAttr",
                "the host of {} has no such 1 GiB pages (memAttr {})", node.product().soc_name,
                static_cast<int>(attribute));
  }
  if (prop.reserve != 0) return fail(RuleId::PhysicalReserve, "prop->reserve", "reserve is {}", prop.reserve);
  return page_bytes_of(attribute);
}

Result<PhysicalSpec> resolve(device::Node& node, const aclrtPhysicalMemProp& prop) {
  PLAT_TRY(check_arguments(prop));
  const auto location = prop.location.type;
  PhysicalSpec spec;
  if (location == ACL_MEM_LOCATION_TYPE_DEVICE) {
    PLAT_ASSIGN(physical, node.physical_id(prop.location.id, "prop->location.id"));
    spec.bank = device::BankId(physical);
  } else {
    spec.bank = device::kHostBank;
    const bool known_node =
        location == ACL_MEM_LOCATION_TYPE_HOST_NUMA
            ? os::exists(fmt::format("/sys/devices/system/node/node{}", prop.location.id)) ||
                  prop.location.id == 0
            : prop.location.id == 0;
    if (!known_node)
      return fail(RuleId::PhysicalHostId, "prop->location.id", "location.id is {} for memory on the host",
                  prop.location.id);
  }
  PLAT_ASSIGN(page_bytes, page_bytes_of(node, prop));
  spec.page_bytes = page_bytes;
  return spec;
}

aclrtMemAttr normalised_attribute(aclrtMemAttr attribute, aclrtMemLocationType location) {
  if (location == ACL_MEM_LOCATION_TYPE_DEVICE) {
    switch (attribute) {
      case ACL_MEM_HUGE1G:
        return ACL_HBM_MEM_HUGE1G;
      case ACL_MEM_NORMAL:  // served with huge pages
      case ACL_HBM_MEM_NORMAL:
      case ACL_MEM_HUGE:
        return ACL_HBM_MEM_HUGE;
      default:
        return attribute;
    }
  }
  switch (attribute) {
    case ACL_DDR_MEM_HUGE:
    case ACL_HBM_MEM_HUGE:
      return ACL_MEM_HUGE;
    case ACL_DDR_MEM_NORMAL:
    case ACL_HBM_MEM_NORMAL:
      return ACL_MEM_NORMAL;
    case ACL_DDR_MEM_P2P_HUGE:
      return ACL_MEM_P2P_HUGE;
    case ACL_MEM_P2P_NORMAL:
      return ACL_DDR_MEM_P2P_NORMAL;
    default:
      return attribute;
  }
}

}  // namespace plat::vmm
