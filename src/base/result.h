// SPDX-License-Identifier: Apache-2.0
// Result<T>: a value, or the rule that was broken and the values that broke it.
//
// Internals return a Result and never throw across the API. The entry points turn an Error into the
// documented code and a message; the words that are the same for every breach of a rule (why, what to do)
// live in the rule book, not here.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace plat {

// Defined by the rule book (rules/); here only its name is known.
enum class RuleId : uint16_t;

struct Error {
  RuleId rule{};
  std::string parameter;  // what of the call is at fault: "offset", "desc[3].flags"
  std::string detail;     // the values, and the state that makes them wrong
};

template <class T = void>
using Result = tl::expected<T, Error>;

// Both are cold, so that what is compiled for a call that goes well is laid out as if it never failed.
//
// fail(RuleId::MapOffsetZero, "offset", "offset is {}", offset)
template <class... Args>
[[nodiscard, gnu::cold, gnu::noinline]] tl::unexpected<Error> fail(RuleId rule, std::string_view parameter,
                                                                   fmt::format_string<Args...> format,
                                                                   Args&&... args) {
  return tl::unexpected<Error>(
      Error{rule, std::string(parameter), fmt::format(format, std::forward<Args>(args)...)});
}

[[nodiscard, gnu::cold, gnu::noinline]] inline tl::unexpected<Error> forward(Error error) {
  return tl::unexpected<Error>(std::move(error));
}

}  // namespace plat

// Returns the error of `result` from the calling function, if it holds one.
#define PLAT_TRY(result)                                    \
  do {                                                      \
    if (auto plat_try_ = (result); !plat_try_) [[unlikely]] \
      return ::plat::forward(std::move(plat_try_).error()); \
  } while (false)

// Declares `name` with the value of `result`, or returns its error.
#define PLAT_ASSIGN(name, result)                              \
  auto name##_result_ = (result);                              \
  if (!name##_result_) [[unlikely]]                            \
    return ::plat::forward(std::move(name##_result_).error()); \
  auto name = std::move(*name##_result_)
