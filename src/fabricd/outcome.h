// SPDX-License-Identifier: Apache-2.0
// Outcome<T>: a value, or why there is none, as it is told to other servers and to the process that asked.
#pragma once

#include <fmt/format.h>

#include <string>
#include <tl/expected.hpp>
#include <utility>

#include "fabric/wire.h"

namespace plat::fabricd {

using fabric::Cause;

struct Trouble {
  Cause cause = Cause::None;
  std::string text;
};

template <class T = void>
using Outcome = tl::expected<T, Trouble>;

template <class... Args>
[[nodiscard]] tl::unexpected<Trouble> trouble(Cause cause, fmt::format_string<Args...> format,
                                              Args&&... args) {
  return tl::unexpected<Trouble>(Trouble{cause, fmt::format(format, std::forward<Args>(args)...)});
}

[[nodiscard]] inline tl::unexpected<Trouble> pass_on(Trouble why) {
  return tl::unexpected<Trouble>(std::move(why));
}

}  // namespace plat::fabricd
