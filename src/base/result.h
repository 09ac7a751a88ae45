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
#include <string_view>
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

// The error of a Result, behind a pointer: every storey makes and takes down a Result for a call that goes
// well, and pays for its size. What makes or ends one is cold and out of line. Where host memory lacks for
// it, std::bad_alloc goes up in its place, as it does for its texts.
class ErrorBox {
 public:
  [[gnu::cold, gnu::noinline]] ErrorBox(Error error) : error_(new Error(std::move(error))) {}
  [[gnu::cold, gnu::noinline]] ErrorBox(const ErrorBox& other) : error_(new Error(*other.error_)) {}
  ErrorBox(ErrorBox&& other) noexcept : error_(std::exchange(other.error_, nullptr)) {}
  ErrorBox& operator=(ErrorBox other) noexcept {
    std::swap(error_, other.error_);
    return *this;
  }
  ~ErrorBox() {
    if (error_ != nullptr) [[unlikely]]
      end();
  }
  Error& operator*() { return *error_; }
  const Error& operator*() const { return *error_; }

 private:
  [[gnu::cold, gnu::noinline]] void end() { delete error_; }

  Error* error_;
};

using Failed = tl::unexpected<ErrorBox>;

template <class T = void>
class Result : public tl::expected<T, ErrorBox> {
  using Base = tl::expected<T, ErrorBox>;

 public:
  using Base::Base;

  Error& error() & { return *Base::error(); }
  const Error& error() const& { return *Base::error(); }
  Error&& error() && { return std::move(*Base::error()); }
  // What another function returns for it.
  Failed failed() && { return Failed(std::move(Base::error())); }
};

// Both are cold, so that what is compiled for a call that goes well is laid out as if it never failed.
//
// fail(RuleId::MapOffsetZero, "offset", "offset is {}", offset)
template <class... Args>
[[nodiscard, gnu::cold, gnu::noinline]] Failed fail(RuleId rule, std::string_view parameter,
                                                    fmt::format_string<Args...> format, Args&&... args) {
  return Failed(Error{rule, std::string(parameter), fmt::format(format, std::forward<Args>(args)...)});
}

[[nodiscard, gnu::cold, gnu::noinline]] inline Failed forward(Error error) {
  return Failed(std::move(error));
}

}  // namespace plat

// Returns the error of `result` from the calling function, if it holds one.
#define PLAT_TRY(result)                                    \
  do {                                                      \
    if (auto plat_try_ = (result); !plat_try_) [[unlikely]] \
      return std::move(plat_try_).failed();                 \
  } while (false)

// Declares `name` with the value of `result`, or returns its error.
#define PLAT_ASSIGN(name, result)              \
  auto name##_result_ = (result);              \
  if (!name##_result_) [[unlikely]]            \
    return std::move(name##_result_).failed(); \
  auto name = std::move(*name##_result_)
