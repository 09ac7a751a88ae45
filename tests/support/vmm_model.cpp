// SPDX-License-Identifier: Apache-2.0
#include "support/vmm_model.h"

#include <algorithm>
#include <bit>
#include <set>

#include "base/units.h"

namespace plat::test {

namespace {

constexpr uint64_t kGiant = 1_GiB;
constexpr uint64_t kWindowStart = 16_TiB;
constexpr uint64_t kWindowEnd = 24_TiB;
constexpr uint64_t kLargest = 128_GiB;
constexpr uint64_t kLargestNewer = 136_TiB;

bool giant(int attribute) { return attribute == 10 || attribute == 14 || attribute == 17; }

// What a query says of memory that was asked for as `attribute`.
int normalised(int attribute, bool on_device) {
  if (on_device) {
    if (attribute == 12 || attribute == 5 || attribute == 13) return 4;  // 2 MiB pages serve them all
    return attribute == 14 ? 10 : attribute;
  }
  if (attribute == 2 || attribute == 4) return 13;
  if (attribute == 3 || attribute == 5) return 12;
  if (attribute == 6) return 16;
  return attribute == 15 ? 7 : attribute;
}

}  // namespace

uint64_t VmmModel::page_bytes(int attribute) { return giant(attribute) ? kGiant : kPage; }

Verdict VmmModel::broken(RuleId rule, int code_v2, int code_v3) const {
  return {rule, is_v3() ? code_v3 : code_v2};
}

std::map<uint64_t, VmmModel::Reservation>::const_iterator VmmModel::around(uint64_t va) const {
  auto next = reservations_.upper_bound(va);
  if (next == reservations_.begin()) return reservations_.end();
  --next;
  return va - next->first < next->second.size_bytes ? next : reservations_.end();
}

const VmmModel::Mapping* VmmModel::mapping_around(uint64_t va, uint64_t* start) const {
  const auto range = around(va);
  if (range == reservations_.end()) return nullptr;
  for (const auto& [mapping_start, mapping] : range->second.mappings) {
    if (va < mapping_start || va - mapping_start >= mapping.size_bytes) continue;
    if (start != nullptr) *start = mapping_start;
    return &mapping;
  }
  return nullptr;
}

uint64_t VmmModel::free_bytes(uint32_t owner) const {
  uint64_t left = owner == kHost ? settings_.host_capacity_bytes : settings_.capacity_bytes;
  for (const auto& [handle, block] : blocks_)
    if (block.owner == owner) left -= block.size_bytes;
  return left;
}

// -- Reservations

Verdict VmmModel::reserve(const void* output, uint64_t size, uint64_t alignment, uint64_t expected,
                          uint64_t flags) const {
  if (output == nullptr) return broken(RuleId::ArgNull, 100000);
  if (size == 0) return broken(RuleId::ArgZeroSize, 100000);
  if (flags > 1) return broken(RuleId::ArgReserved, 100000);
  if (alignment != 0) return broken(RuleId::ReserveAlignment, 107000);
  if (size > (is_v3() ? kLargestNewer : kLargest)) return broken(RuleId::ReserveTooLarge, 207001);
  if (expected == 0) return {};
  if (!settings_.expected_address) return broken(RuleId::ProductSupport, 207000);
  const uint64_t whole = align_up(size, kPage);
  const uint64_t wanted = whole > 512_MiB ? kGiant : std::bit_ceil(whole);
  if (expected % wanted != 0) return broken(RuleId::ReserveExpected, 107000);
  if (expected < kWindowStart || expected >= kWindowEnd || whole > kWindowEnd - expected)
    return broken(RuleId::ReserveWindow, 507899, 107000);
  if (!settings_.fixed_addresses) return broken(RuleId::ReserveTaken, 507899);
  for (const auto& [start, range] : reservations_)
    if (start < expected + whole && expected < start + range.size_bytes)
      return broken(RuleId::ReserveTaken, 507899);
  return {};
}

std::string VmmModel::reserved(uint64_t start, uint64_t size, uint64_t expected) {
  const uint64_t whole = align_up(size, kPage);
  if (expected != 0 && start != expected) return "another address than the expected one";
  if (start % (whole > 512_MiB ? kGiant : kPage) != 0) return "the address is not aligned";
  for (const auto& [other, range] : reservations_)
    if (start < other + range.size_bytes && other < start + whole) return "the range overlaps another one";
  Reservation range;
  range.size_bytes = whole;
  reservations_.emplace(start, range);
  return "";
}

Verdict VmmModel::release(uint64_t start) {
  if (start == 0) return broken(RuleId::ArgNull, 100000);
  const auto range = reservations_.find(start);
  if (range == reservations_.end()) return broken(RuleId::ReleaseUnknown, 107000);
  if (!range->second.mappings.empty()) return broken(RuleId::ReleaseMapped, 507899);
  reservations_.erase(range);
  return {};
}

// -- Physical memory

Verdict VmmModel::check_attribute(const aclrtPhysicalMemProp& prop) const {
  const int attribute = static_cast<int>(prop.memAttr);
  const bool on_device = prop.location.type == ACL_MEM_LOCATION_TYPE_DEVICE;
  static const std::set<int> kNever = {0, 1, 8, 9, 11};
  static const std::set<int> kDdr = {2, 3, 6, 7};
  if (attribute < 0 || attribute > 17 || kNever.count(attribute) != 0 ||
      (on_device && kDdr.count(attribute) != 0))
    return broken(RuleId::PhysicalAttribute, 100000);
  return {};
}

Verdict VmmModel::check_pages(const aclrtPhysicalMemProp& prop) const {
  const int attribute = static_cast<int>(prop.memAttr);
  const bool on_device = prop.location.type == ACL_MEM_LOCATION_TYPE_DEVICE;
  if (giant(attribute) && (!settings_.giant_pages || (!on_device && attribute != 17)))
    return broken(RuleId::ProductSupport, 207000);
  if (prop.reserve != 0) return broken(RuleId::PhysicalReserve, 107000);
  return {};
}

Verdict VmmModel::check_prop(const aclrtPhysicalMemProp& prop) const {
  const int type = static_cast<int>(prop.location.type);
  if (prop.handleType != 0 || prop.allocationType != 0) return broken(RuleId::ArgEnum, 100000);
  if (type != 0 && type != 1 && type != 4) return broken(RuleId::PhysicalLocation, 100000);
  if (const Verdict verdict = check_attribute(prop); !verdict.ok()) return verdict;
  const bool on_device = type == ACL_MEM_LOCATION_TYPE_DEVICE;
  if (on_device && prop.location.id >= settings_.devices) return broken(RuleId::DeviceId, 107001);
  // Every machine has NUMA node 0; tests ask for no other that could exist.
  if (!on_device && prop.location.id != 0) return broken(RuleId::PhysicalHostId, 207000);
  return check_pages(prop);
}

// The older driver rounds giant memory up by itself.
uint64_t VmmModel::rounded(uint64_t size, const aclrtPhysicalMemProp& prop) const {
  if (!giant(prop.memAttr) || is_v3() || size > UINT64_MAX - kGiant) return size;
  return align_up(size, kGiant);
}

Verdict VmmModel::create(const void* output, uint64_t size, const aclrtPhysicalMemProp* prop,
                         uint64_t flags) const {
  if (output == nullptr || prop == nullptr) return broken(RuleId::ArgNull, 100000);
  if (size == 0) return broken(RuleId::ArgZeroSize, 100000);
  if (flags != 0) return broken(RuleId::ArgReserved, 100000);
  if (const Verdict verdict = check_prop(*prop); !verdict.ok()) return verdict;
  const bool on_device = prop->location.type == ACL_MEM_LOCATION_TYPE_DEVICE;
  if (on_device && (settings_.open_devices >> prop->location.id & 1) == 0)
    return broken(RuleId::PhysicalDeviceOpen, 507899);
  const uint64_t whole = rounded(size, *prop);
  if (whole % (giant(prop->memAttr) ? kGiant : kPage) != 0)
    return broken(RuleId::PhysicalSize, 507899, 107000);
  if (whole > free_bytes(on_device ? prop->location.id : kHost)) return broken(RuleId::OutOfMemory, 207001);
  return {};
}

std::string VmmModel::created(uint64_t handle, uint64_t size, const aclrtPhysicalMemProp& prop) {
  if (handle == 0) return "the handle is null";
  const bool on_device = prop.location.type == ACL_MEM_LOCATION_TYPE_DEVICE;
  Block block;
  block.prop = prop;
  block.prop.memAttr = static_cast<aclrtMemAttr>(normalised(prop.memAttr, on_device));
  block.owner = on_device ? prop.location.id : kHost;
  block.size_bytes = rounded(size, prop);
  block.page_bytes = giant(prop.memAttr) ? kGiant : kPage;
  block.references = 1;
  block.marks.resize(block.size_bytes / kPage);
  return blocks_.emplace(handle, block).second ? "" : "the handle is that of living memory";
}

void VmmModel::drop(uint64_t handle) {
  const auto block = blocks_.find(handle);
  if (--block->second.references == 0) blocks_.erase(block);
}

Verdict VmmModel::free(uint64_t handle) {
  if (handle == 0) return broken(RuleId::ArgNull, 100000);
  const auto block = blocks_.find(handle);
  if (block == blocks_.end()) return broken(RuleId::HandleStale, 107017);
  if (block->second.references <= block->second.map_references) return broken(RuleId::FreeTooOften, 107000);
  drop(handle);
  return {};
}

// -- Mappings

Verdict VmmModel::map(uint64_t start, uint64_t size, uint64_t offset, uint64_t handle, uint64_t flags,
                      bool grant_owner) {
  if (start == 0 || handle == 0) return broken(RuleId::ArgNull, 100000);
  if (size == 0) return broken(RuleId::ArgZeroSize, 100000);
  if (flags != 0) return broken(RuleId::ArgReserved, 100000);
  if (offset != 0) return broken(RuleId::MapOffset, 107000);
  const auto found = blocks_.find(handle);
  if (found == blocks_.end() || found->second.references == found->second.map_references)
    return broken(RuleId::HandleStale, 107017);
  Block& block = found->second;
  const auto inside = around(start);
  if (inside == reservations_.end()) return broken(RuleId::MapOutside, 507899, 107000);
  if (start % block.page_bytes != 0 || size % block.page_bytes != 0)
    return broken(RuleId::MapAligned, 507899);
  Reservation& range = reservations_.at(inside->first);
  if (size > range.size_bytes - (start - inside->first)) return broken(RuleId::MapPastEnd, 507899);
  if (size > block.size_bytes) return broken(RuleId::MapTooLarge, 207001, 107000);
  for (const auto& [other, mapping] : range.mappings)
    if (start < other + mapping.size_bytes && other < start + size) return broken(RuleId::MapOverlap, 507899);
  if (range.page_bytes != 0 && range.page_bytes != block.page_bytes)
    return broken(RuleId::MapPageType, 507899);
  if (range.owner && *range.owner != block.owner) return broken(RuleId::MapTwoDevices, 507899);
  range.owner = block.owner;
  range.page_bytes = block.page_bytes;
  Mapping mapping;
  mapping.size_bytes = size;
  mapping.handle = handle;
  mapping.host_access = grant_owner && block.owner == kHost;
  mapping.device_access = grant_owner && block.owner != kHost ? uint64_t{1} << block.owner : 0;
  range.mappings.emplace(start, mapping);
  block.references += 1;
  block.map_references += 1;
  return {};
}

Verdict VmmModel::unmap(uint64_t start) {
  if (start == 0) return broken(RuleId::ArgNull, 100000);
  const auto inside = around(start);
  if (start % kPage != 0 || inside == reservations_.end())
    return broken(RuleId::UnmapUnknownAddress, 507899, 107000);
  auto& mappings = reservations_.at(inside->first).mappings;
  const auto mapping = mappings.find(start);
  if (mapping == mappings.end()) return broken(RuleId::UnmapUnknown, 507899);
  const uint64_t handle = mapping->second.handle;
  mappings.erase(mapping);
  blocks_.at(handle).map_references -= 1;
  drop(handle);
  return {};
}

}  // namespace plat::test
