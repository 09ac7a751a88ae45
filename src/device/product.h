// SPDX-License-Identifier: Apache-2.0
// The products that a software device can play, each with what its documentation promises and refuses.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "rules/rules.h"

namespace plat::device {

struct Product {
  const char* key;       // what users type: "a2"
  const char* name;      // what documents call it
  const char* soc_name;  // what aclrtGetSocName returns
  rules::Generation generation;
  uint64_t memory_bytes;
  uint32_t padding_bytes;  // added behind every aclrtMalloc block
  bool has_hbm;            // false: DDR only
  bool runs_on_device;     // Ascend RC form: the program runs on the device's own CPU
  bool virtual_memory;     // the VMM calls
  bool giant_pages;        // 1 GiB pages
  bool expected_address;   // aclrtReserveMemAddress with expectPtr
  bool cross_server;       // NoUC reservations, fabric handles, selected links
  bool peer_access;        // copies and mappings between devices
  uint32_t streams_max;    // of one device
  uint32_t events_max;     // of one device
};

// Whether memory of another device is reached over a link: SIO 0, HCCS 1, UB by one port 2, by several 3.
constexpr bool has_link(const Product& product, uint64_t link) {
  return product.generation == rules::Generation::V3 ? link == 2 || link == 3
                                                     : product.cross_server && link <= 1;
}

std::span<const Product> products();
// By key, in any case; nullptr if there is none.
const Product* find_product(std::string_view key);
const Product& default_product();

// Where device addresses come from. Automatic reservations prefer the documented window.
inline constexpr uint64_t kWindowStart = 0x100000000000;  // 16 TiB
inline constexpr uint64_t kWindowEnd = 0x180000000000;    // 24 TiB
inline constexpr uint64_t kLargestReservation = uint64_t{128} << 30;

}  // namespace plat::device
