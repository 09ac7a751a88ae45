// SPDX-License-Identifier: Apache-2.0
// Reservations, physical handles and queries. Mapping and access are in mapping.cpp.
#include "vmm/vmm.h"

#include <bit>

#include "base/text.h"
#include "device/report.h"
#include "os/memory.h"
#include "rules/rules.h"

namespace plat::vmm {

using core::kPageBytes;
using device::kHostBank;

namespace {
constexpr uint64_t kGiantAlignmentAbove = 512_MiB;
}

Vmm::Vmm(device::Node& node)
    : node_(node), host_mapping_limit_(std::min(os::mapping_limit() / 2, node.config().host_mapping_limit)) {}

// -- Reservations

Result<Va> Vmm::reserve(uint64_t size_bytes, Va expected, bool huge_page_flag) {
  const uint64_t largest = device::largest_reservation(node_.product());
  if (size_bytes > largest)
    return fail(RuleId::ReserveTooLarge, "size", "asked for {} ({} bytes), {} takes {}",
                format_bytes(size_bytes), size_bytes, node_.product().soc_name, format_bytes(largest));
  const uint64_t size = align_up(size_bytes, kPageBytes);
  uint64_t alignment = size > kGiantAlignmentAbove ? kGiantPageBytes : kPageBytes;
  if (expected.value != 0) {
    if (!node_.product().expected_address)
      return fail(RuleId::ProductSupport, "expectPtr", "{} takes no expected address, got {:#x}",
                  node_.product().soc_name, expected.value);
    if (size <= kGiantAlignmentAbove) alignment = std::bit_ceil(size);
    if (!is_aligned(expected.value, alignment))
      return fail(RuleId::ReserveExpected, "expectPtr", "{:#x} for {} is not aligned to {}", expected.value,
                  format_bytes(size), format_bytes(alignment));
    if (expected.value < device::kWindowStart || expected.value > device::kWindowEnd - size)
      return fail(RuleId::ReserveWindow, "expectPtr", "{:#x} for {} lies outside", expected.value,
                  format_bytes(size));
  }
  const std::lock_guard lock(mutex_);
  PLAT_ASSIGN(index, space_.reserve(size, alignment, expected));
  space_.reservation(index)->huge_page_flag = huge_page_flag;
  return Va{space_.reservation(index)->start.load(std::memory_order_relaxed)};
}

Result<Va> Vmm::reserve_cross_server(uint64_t size_bytes, Va expected) {
  if (!node_.product().cross_server)
    return fail(RuleId::ProductSupport, "virPtr", "{} has no cross-server addresses",
                node_.product().soc_name);
  if (expected.value < device::kWindowEnd)
    return fail(RuleId::ReserveNoUc, "expectPtr", "expectPtr is {:#x}", expected.value);
  constexpr uint64_t kAddressEnd = uint64_t{1} << core::kAddressBits;
  if (size_bytes > kAddressEnd || expected.value > kAddressEnd - size_bytes)
    return fail(RuleId::ReserveNoUc, "expectPtr", "{} at {:#x} end above {}", format_bytes(size_bytes),
                expected.value, format_bytes(kAddressEnd));
  if (!is_aligned(size_bytes, kGiantPageBytes) || !is_aligned(expected.value, kGiantPageBytes))
    return fail(RuleId::ReserveNoUcSize, "size", "size is {} bytes at {:#x}", size_bytes, expected.value);
  const std::lock_guard lock(mutex_);
  PLAT_ASSIGN(index, space_.reserve(size_bytes, kGiantPageBytes, expected));
  space_.reservation(index)->cross_server = true;
  return Va{space_.reservation(index)->start.load(std::memory_order_relaxed)};
}

Result<> Vmm::release(Va start) {
  const std::lock_guard lock(mutex_);
  const ReservationId id = space_.reservation_at(start);
  const Reservation* range = id == ReservationId::none() ? nullptr : space_.reservation(id);
  if (range == nullptr || range->internal)
    return fail(RuleId::ReleaseUnknown, "virPtr", "{:#x} is {}", start.value,
                range == nullptr ? "in no reservation" : "memory of another kind");
  const uint64_t range_start = range->start.load(std::memory_order_relaxed);
  if (range_start != start.value)
    return fail(RuleId::ReleaseUnknown, "virPtr", "{:#x} lies {} bytes inside the reservation at {:#x}",
                start.value, start.value - range_start, range_start);
  if (range->mapping_count != 0)
    return fail(RuleId::ReleaseMapped, "virPtr", "{} mapping(s) are left in the reservation of {} at {:#x}",
                range->mapping_count, format_bytes(range->size_bytes.load(std::memory_order_relaxed)),
                start.value);
  space_.release(id);
  return {};
}

// -- Physical memory

Result<PhysicalHandle> Vmm::create(uint64_t size_bytes, const aclrtPhysicalMemProp& prop) {
  PLAT_ASSIGN(spec, resolve(node_, prop));
  if (spec.bank != kHostBank)
    PLAT_TRY(report::check_soft(node_.is_open(spec.bank.value), RuleId::PhysicalDeviceOpen,
                                "prop->location.id",
                                "device {} (number {} of the machine) is not open in this process",
                                prop.location.id, spec.bank.value));
  // Giant pages round up under the older driver and must fit under the newer; 2 MiB must fit under both.
  uint64_t size = size_bytes;
  if (spec.page_bytes == kGiantPageBytes && report::generation() == rules::Generation::V2 &&
      size <= UINT64_MAX - kGiantPageBytes)
    size = align_up(size, kGiantPageBytes);
  if (!is_aligned(size, spec.page_bytes))
    return fail(RuleId::PhysicalSize, "size", "{} bytes is {} more than a multiple of {}", size,
                size % spec.page_bytes, format_bytes(spec.page_bytes));
  PLAT_ASSIGN(bank, node_.bank(spec.bank));
  const uint64_t pages = size / kPageBytes;
  device::BlockInfo info;
  info.attribute = static_cast<uint8_t>(prop.memAttr);
  info.location_type = static_cast<uint8_t>(prop.location.type);
  info.location_id = spec.bank == kHostBank ? prop.location.id : spec.bank.value;
  PLAT_ASSIGN(block, bank->allocate(pages, info));
  device::HeldBlock held(*bank, block);
  const std::lock_guard lock(mutex_);
  PLAT_ASSIGN(made, new_handle());
  made.physical->bank = bank;
  made.physical->block = block;
  made.physical->size_bytes = size;
  made.physical->page_bytes = spec.page_bytes;
  held.keep();
  return made.handle;
}

Result<> Vmm::free(PhysicalHandle handle) {
  Leftover leftover;
  {
    const std::lock_guard lock(mutex_);
    PLAT_ASSIGN(index, handles_.find(handle, "handle"));
    Physical& physical = handles_.at(index);
    if (physical.references <= physical.map_references)
      return fail(RuleId::FreeTooOften, "handle",
                  "handle {:#x} has {} mapping(s) and no other reference left", handle.value,
                  physical.map_references);
    physical.references -= 1;
    if (physical.references == physical.map_references) withdraw_number(physical);
    if (physical.references > 0) return {};
    leftover = remove_handle(index);
  }
  leftover.give_back();
  return {};
}

// The newer driver ends the number of an exported handle with the handle, while mappings live on.
void Vmm::withdraw_number(Physical& physical) {
  if (!physical.exported || report::generation() != rules::Generation::V3) return;
  physical.exported = false;
  const device::Ledger::Lock ledger_lock(physical.bank->ledger());
  physical.bank->ledger().record(physical.block).share_secret = 0;
}

// A mapping let go of its handle. mutex_ is held.
Vmm::Leftover Vmm::drop_reference(HandleIndex index) {
  Physical& physical = handles_.at(index);
  physical.map_references -= 1;
  physical.references -= 1;
  if (physical.references > 0) return {};
  return remove_handle(index);
}

Vmm::Leftover Vmm::remove_handle(HandleIndex index) {
  Physical& physical = handles_.at(index);
  Leftover leftover{physical.bank, physical.block, std::move(physical.remote)};
  handles_.remove(index);
  return leftover;
}

// -- Queries

Result<uint64_t> Vmm::granularity(const aclrtPhysicalMemProp& prop) { return page_bytes_of(node_, prop); }

Result<aclrtPhysicalMemProp> Vmm::properties(PhysicalHandle handle) {
  const std::lock_guard lock(mutex_);
  PLAT_ASSIGN(index, handles_.find(handle, "handle"));
  const Physical& physical = handles_.at(index);
  aclrtPhysicalMemProp prop{};
  prop.handleType = ACL_MEM_HANDLE_TYPE_NONE;
  prop.allocationType = ACL_MEM_ALLOCATION_TYPE_PINNED;
  if (physical.remote) {
    const Remote::Properties far = physical.remote->properties();
    prop.location.type = far.location;
    prop.location.id = far.location_id;
    prop.memAttr = normalised_attribute(far.attribute, far.location);
    return prop;
  }
  const device::HandleRecord& record = physical.bank->ledger().record(physical.block);
  prop.location.type = static_cast<aclrtMemLocationType>(record.location_type);
  prop.location.id = record.location_id;
  if (prop.location.type == ACL_MEM_LOCATION_TYPE_DEVICE) {
    const int32_t logical = node_.logical_id(record.location_id);
    if (logical >= 0) prop.location.id = static_cast<uint32_t>(logical);
  }
  prop.memAttr = normalised_attribute(static_cast<aclrtMemAttr>(record.attribute), prop.location.type);
  return prop;
}

Result<PhysicalHandle> Vmm::retain(Va start) {
  const std::lock_guard lock(mutex_);
  const PageEntry entry = space_.entry(start);
  const Mapping* mapping = entry.has_mapping() ? space_.mapping(entry.mapping()) : nullptr;
  if (mapping == nullptr && space_.reservation_at(start) != ReservationId::none())
    return fail(RuleId::RetainUnmapped, "virPtr", "{:#x} is reserved, and nothing is mapped there",
                start.value);
  if (mapping == nullptr || mapping->kind.load(std::memory_order_relaxed) != MappingKind::Client)
    return fail(RuleId::RetainStart, "virPtr", "{:#x} is in no mapping of aclrtMapMem", start.value);
  const uint64_t mapping_start = mapping->start.load(std::memory_order_relaxed);
  // The newer driver finds the mapping around any address.
  if (mapping_start != start.value && report::generation() == rules::Generation::V2)
    return fail(RuleId::RetainStart, "virPtr", "{:#x} lies {} bytes inside the mapping at {:#x}", start.value,
                start.value - mapping_start, mapping_start);
  const HandleIndex index = mapping->handle.load(std::memory_order_relaxed);
  handles_.at(index).references += 1;
  return handles_.handle_of(index);
}

Result<> Vmm::set_link(PhysicalHandle handle, uint32_t link) {
  if (!device::has_link(node_.product(), link))
    return fail(RuleId::LinkUnsupported, "adviceLink", "{} has no link {}", node_.product().soc_name, link);
  const std::lock_guard lock(mutex_);
  PLAT_ASSIGN(index, handles_.find(handle, "handle"));
  handles_.at(index).link = link;
  return {};
}

}  // namespace plat::vmm
