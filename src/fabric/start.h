// SPDX-License-Identifier: Apache-2.0
// Starting the daemon of a server: by the first program that needs it, or by 'plat fabric start'.
#pragma once

#include <string>

#include "base/result.h"

namespace plat::fabric {

// One that cannot start ends, and is noticed at once; this is for a machine that has no time for it.
inline constexpr uint32_t kStartMs = 60000;

// Where the program lies in an installation, seen from the library and from the command.
std::string daemon_beside_library();
std::string daemon_beside(const std::string& program);

// A daemon answers at the socket afterwards; where one does already, none is started. Programs that come at
// the same moment start one together. It reads its settings from the environment. The error says why there is
// none, in the daemon's own words.
Result<> start_daemon(const std::string& program, const std::string& socket, uint32_t deadline_ms);

}  // namespace plat::fabric
