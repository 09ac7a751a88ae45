// SPDX-License-Identifier: Apache-2.0
// What a call of the allocation family really asks for: how many bytes, in which pages.
#pragma once

#include <cstdint>

#include "acl/acl_rt_memory.h"
#include "base/result.h"
#include "device/product.h"

namespace plat::malloc {

// The call that allocates; they round and pad differently.
enum class Call : uint8_t { Malloc, Align32, Cached, WithConfig, TaskScheduler, Media };

// Sizes of blocks come in multiples of it, on the device and on the host.
inline constexpr uint64_t kRounding = 32;

enum class Pages : uint8_t { Normal, Huge, Giant };

inline constexpr uint64_t kNormalPageBytes = 4096;

constexpr uint64_t page_bytes(Pages pages) {
  return pages == Pages::Normal ? kNormalPageBytes : pages == Pages::Huge ? uint64_t{2} << 20 : 1u << 30;
}

struct BlockRequest {
  uint64_t asked_bytes = 0;  // by the program
  uint64_t block_bytes = 0;  // what the runtime asks the driver for: rounded, padded
  Pages pages = Pages::Normal;
  bool falls_back = false;  // to normal pages, when there are no huge ones
  bool peer = false;        // reachable by other devices
  bool read_only = false;   // for programs on the device

  // What is charged for it.
  uint64_t charged_bytes() const;
};

Result<BlockRequest> request_for(const device::Product& product, Call call, uint64_t size_bytes,
                                 uint32_t policy);

// The attribute that describes such memory.
aclrtMemAttr attribute_of(const BlockRequest& wanted, const device::Product& product);

}  // namespace plat::malloc
