// SPDX-License-Identifier: Apache-2.0
// Id<Tag>: the number of one kind of thing, which is not the number of another.
//
// Tables are indexed by small numbers, and several of them meet in one call: a page, its block, the mapping.
// As bare integers they could be swapped and nobody would notice. It costs what the number costs, and may lie
// in memory that processes share.
#pragma once

#include <compare>
#include <cstdint>
#include <type_traits>

namespace plat {

template <class Tag>
struct Id {
  uint32_t value = 0;

  constexpr Id() = default;
  constexpr explicit Id(uint32_t number) : value(number) {}
  static constexpr Id none() { return Id(UINT32_MAX); }
  friend constexpr auto operator<=>(Id, Id) = default;
};

static_assert(sizeof(Id<void>) == sizeof(uint32_t) && std::is_trivially_copyable_v<Id<void>> &&
              std::is_standard_layout_v<Id<void>> && !std::is_convertible_v<uint32_t, Id<void>>);

}  // namespace plat
