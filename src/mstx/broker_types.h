// SPDX-License-Identifier: Apache-2.0
// The public types, without the header-only calls: this folder is what they call. And what all of them do
// with values that may be anything, and without memory.
#pragma once

#define MSTX_NO_IMPL
#define MSTX_DECLSPEC __attribute__((visibility("default")))

#include <cstdint>
#include <cstring>
#include <new>
#include <type_traits>

#include "mstx/ms_tools_ext.h"
#include "plat/mstx_ext.h"

extern "C" MSTX_DECLSPEC int InitInjectionMstx(mstxGetModuleFuncTableFunc get_table);  // see api.cpp

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

// What comes of a call that goes nowhere: nothing, or the code that our own have for it.
template <class Answer>
Answer nothing(platMstxResult code) {
  if constexpr (std::is_same_v<Answer, int>)
    return code;
  else
    return Answer();
}

// A call that comes to nothing when memory runs out.
template <class Do>
auto guarded(Do&& call) -> std::invoke_result_t<Do> {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    return nothing<std::invoke_result_t<Do>>(PLAT_MSTX_NO_MEMORY);
  }
}

}  // namespace plat::mstx
