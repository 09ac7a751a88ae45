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

// What a record has of a place in another table, or its own: the number + 1, so that memory which nobody has
// written leads nowhere.
template <class Place>
struct Link {
  uint32_t number_after = 0;

  constexpr Link() = default;
  constexpr explicit Link(Place place) : number_after(place.value + 1) {}
  constexpr explicit operator bool() const { return number_after != 0; }
  constexpr Place operator*() const { return Place(number_after - 1); }
  friend constexpr bool operator==(Link, Link) = default;
};

// All numbers of a kind below `count`: for (const PageId page : ids<PageId>(count)).
template <class Place>
constexpr auto ids(uint32_t count) {
  struct Numbers {
    uint32_t at, end_at;
    constexpr Numbers begin() const { return *this; }
    constexpr Numbers end() const { return {end_at, end_at}; }
    constexpr Place operator*() const { return Place(at); }
    constexpr Numbers& operator++() { return ++at, *this; }
    constexpr bool operator==(const Numbers&) const = default;
  };
  return Numbers{0, count};
}

}  // namespace plat
