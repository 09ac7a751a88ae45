// SPDX-License-Identifier: Apache-2.0
// Which call a record stands for, and with what: mostly what lives, sometimes what lived, never lived or
// cannot be.
#include <algorithm>
#include <iterator>

#include "base/units.h"
#include "support/vmm_play.h"

namespace plat::test {

namespace {

constexpr size_t kMostReservations = 40;

template <class Map>
uint64_t key_at(const Map& map, uint32_t index) {
  return std::next(map.begin(), index)->first;
}

}  // namespace

bool Player::step(Script record) {
  ++steps_;
  Choices choices(record);
  const uint32_t kind = choices.below(34);
  if (kind < 4)
    return model_.reservations().size() < kMostReservations ? reserve(choices)
                                                            : release(some_address(choices));
  if (kind < 7) {
    const auto& ranges = model_.reservations();
    const bool whole = !ranges.empty() && !choices.one_in(4);
    return release(whole ? key_at(ranges, choices.below(static_cast<uint32_t>(ranges.size())))
                         : some_address(choices));
  }
  if (kind < 12) return create(choices);
  if (kind < 16) return free(some_handle(choices));
  if (kind < 22) return map(choices);
  if (kind < 26) return unmap(choices.one_in(5) ? some_address(choices) : some_mapping(choices));
  if (kind < 28) return set_access(choices);
  if (kind == 28) {
    aclrtMemLocation location = some_location(choices);
    return get_access(some_address(choices), choices.one_in(16) ? nullptr : &location);
  }
  if (kind == 29)
    return retain(choices.one_in(3) ? some_address(choices) : some_mapping(choices), !choices.one_in(16));
  if (kind == 30) return properties(some_handle(choices));
  if (kind == 31) return granularity(choices);
  return touch(choices);
}

uint64_t Player::some_address(Choices& choices) {
  const auto& ranges = model_.reservations();
  const uint32_t kind = choices.below(16);
  if (kind == 12 && !past_addresses_.empty())
    return past_addresses_[choices.below(static_cast<uint32_t>(past_addresses_.size()))];
  if (kind == 13)
    return choices.among<uint64_t>({0, 1, kPage, kFirstAddress, 24_TiB, uint64_t{1} << 47, UINT64_MAX,
                                    UINT64_MAX - kPage + 1, reinterpret_cast<uint64_t>(this)});
  if (ranges.empty()) return kExpectedBase;
  const auto& [start, range] =
      *std::next(ranges.begin(), choices.below(static_cast<uint32_t>(ranges.size())));
  if (kind == 14) return start + range.size_bytes;
  const uint64_t page =
      choices.below(static_cast<uint32_t>(std::min<uint64_t>(range.size_bytes / kPage, 12)));
  return start + page * kPage + (kind == 15 ? choices.among<uint64_t>({1, 4096, kPage - 1}) : 0);
}

uint64_t Player::some_mapping(Choices& choices) {
  std::vector<uint64_t> starts;
  for (const auto& [start, range] : model_.reservations())
    for (const auto& [at, mapping] : range.mappings) starts.push_back(at);
  return starts.empty() ? some_address(choices) : starts[choices.below(static_cast<uint32_t>(starts.size()))];
}

uint64_t Player::some_handle(Choices& choices) {
  const auto& blocks = model_.blocks();
  const uint32_t kind = choices.below(16);
  if (kind == 13 && !past_handles_.empty())
    return past_handles_[choices.below(static_cast<uint32_t>(past_handles_.size()))];
  if (kind == 14 || blocks.empty())
    return choices.among<uint64_t>(
        {0, 1, 0x50, UINT64_MAX, 0xFFFFFFFFFFFFFF50, reinterpret_cast<uint64_t>(this)});
  const uint64_t handle = key_at(blocks, choices.below(static_cast<uint32_t>(blocks.size())));
  return kind == 15 ? handle ^ uint64_t { 1 } << choices.below(64) : handle;
}

aclrtMemLocation Player::some_location(Choices& choices) {
  aclrtMemLocation location{};
  location.type = choices.one_in(4) ? ACL_MEM_LOCATION_TYPE_HOST : ACL_MEM_LOCATION_TYPE_DEVICE;
  if (location.type == ACL_MEM_LOCATION_TYPE_DEVICE) location.id = choices.below(model_.settings().devices);
  if (choices.one_in(12))
    location.type = static_cast<aclrtMemLocationType>(choices.among({0, 1, 2, 3, 4, 5}));
  if (choices.one_in(12)) location.id = choices.among<uint32_t>({0, 1, 7, 63, 64, UINT32_MAX});
  return location;
}

aclrtPhysicalMemProp Player::some_prop(Choices& choices) {
  aclrtPhysicalMemProp prop{};
  prop.location.type = choices.one_in(5) ? ACL_MEM_LOCATION_TYPE_HOST : ACL_MEM_LOCATION_TYPE_DEVICE;
  prop.memAttr = static_cast<aclrtMemAttr>(choices.among({4, 13, 12, 5, 13, 4, 15, 16, 10, 14, 17}));
  if (prop.location.type == ACL_MEM_LOCATION_TYPE_DEVICE)
    prop.location.id = choices.below(model_.settings().devices);
  switch (choices.below(24)) {
    case 18:
      prop.handleType = static_cast<aclrtMemHandleType>(choices.among({2, 1, 3}));
      break;
    case 19:
      prop.allocationType = static_cast<aclrtMemAllocationType>(1);
      break;
    case 20:
      prop.location.type = static_cast<aclrtMemLocationType>(choices.below(6));
      break;
    case 21:
      prop.location.id = choices.among<uint32_t>({1, 7, 64, 4000, UINT32_MAX});
      // Which NUMA nodes above 0 there are is the machine's business.
      if (prop.location.type == ACL_MEM_LOCATION_TYPE_HOST_NUMA) prop.location.id = 4000;
      break;
    case 22:
      prop.memAttr = static_cast<aclrtMemAttr>(choices.below(20));
      break;
    case 23:
      prop.reserve = choices.among<uint64_t>({1, UINT64_MAX});
      break;
    default:
      break;
  }
  if (prop.location.type == ACL_MEM_LOCATION_TYPE_HOST_NUMA && prop.location.id != 4000) prop.location.id = 0;
  return prop;
}

}  // namespace plat::test
