// SPDX-License-Identifier: Apache-2.0
// Calls that clients make at start-up and that memory has no part in.
#pragma once

#include "device/report.h"

namespace plat::acl {

// Clients stop when one of these fails, so it succeeds; the log says that nothing is behind it.
inline Result<> accept_without_effect(std::string_view why) {
  report::info(fmt::format("{} is accepted without effect: {}", report::CallScope::current(), why));
  return {};
}

}  // namespace plat::acl
