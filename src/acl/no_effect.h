// SPDX-License-Identifier: Apache-2.0
// Calls that clients make at start-up and that memory has no part in.
#pragma once

#include <new>
#include <string_view>

#include "device/report.h"

namespace plat::acl {

// Clients stop when one of these fails, so it succeeds; the log says that nothing is behind it.
// Where there is no memory for that line, it is not written.
inline Result<> accept_without_effect(std::string_view why) {
  try {
    report::info(fmt::format("{} is accepted without effect: {}", report::CallScope::current(), why));
  } catch (const std::bad_alloc&) {
  }
  return {};
}

}  // namespace plat::acl
