// SPDX-License-Identifier: Apache-2.0
// The public types, without the header-only calls: this folder is what they call.
#pragma once

#define MSTX_NO_IMPL
#define MSTX_DECLSPEC __attribute__((visibility("default")))

#include <cstdint>
#include <cstring>

#include "mstx/ms_tools_ext.h"
#include "plat/mstx_ext.h"

namespace plat::mstx {

// An enumeration that a client filled in, or did not: it may hold anything, which the language does not allow
// for.
template <class Enum>
uint32_t value_of(const Enum& from_client) {
  static_assert(sizeof(Enum) == sizeof(uint32_t));
  uint32_t value = 0;
  std::memcpy(&value, &from_client, sizeof(value));
  return value;
}

}  // namespace plat::mstx
