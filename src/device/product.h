// SPDX-License-Identifier: Apache-2.0
// The products that a software device can play, each with what its documentation promises and refuses.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "rules/rules.h"

namespace plat::device {

// How the host reaches the device.
enum class HostLink : uint8_t { Pcie, Hccs, Ub };

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
  uint32_t notifies_max;   // of one device; 0: there are none
  bool notify_keys;        // notifies between processes
  bool counting_notifies;
  bool ipc_events;  // events between processes
  // A scheduler in hardware: streams can be aborted, stopped and given attributes, and their overflows
  // watched.
  bool hardware_scheduler;
  bool device_services;  // uuid, stack limits, task abort, reports of broken memory
  bool inf_nan;          // floating-point overflow gives infinities, and BF16 is there
  bool simt;             // threads inside of vector cores
  HostLink host_link;
  uint32_t architecture;  // ACL_DEV_ATTR_NPU_ARCH; 0 where nothing is documented
};

// Whether memory of another device is reached over a link: SIO 0, HCCS 1, UB by one port 2, by several 3.
constexpr bool has_link(const Product& product, uint64_t link) {
  return product.generation == rules::Generation::V3 ? link == 2 || link == 3
                                                     : product.cross_server && link <= 1;
}

// Memory of host and device alike; and the calls that advise about it.
constexpr bool has_managed_memory(const Product& product) { return std::string_view(product.key) == "a2"; }
constexpr bool has_managed_advice(const Product& product) {
  return has_managed_memory(product) || std::string_view(product.key) == "a3";
}

// A limit for all waits of streams for events.
constexpr bool has_wait_limit(const Product& product) { return std::string_view(product.key) != "inference"; }

// Process snapshots.
constexpr bool has_snapshots(const Product& product) {
  return product.device_services && product.generation == rules::Generation::V2;
}

std::span<const Product> products();
// By key, in any case; nullptr if there is none.
const Product* find_product(std::string_view key);
const Product& default_product();

// Where device addresses come from. Automatic reservations prefer the documented window.
inline constexpr uint64_t kWindowStart = 0x100000000000;  // 16 TiB
inline constexpr uint64_t kWindowEnd = 0x180000000000;    // 24 TiB
inline constexpr uint64_t kLargestReservation = uint64_t{128} << 30;
// Of one call; the newer driver has far more addresses.
constexpr uint64_t largest_reservation(const Product& product) {
  return product.generation == rules::Generation::V3 ? uint64_t{136} << 40 : kLargestReservation;
}

}  // namespace plat::device
