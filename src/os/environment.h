// SPDX-License-Identifier: Apache-2.0
// The environment, as the storeys up to acl/ and the programs read it. pool/, mstx/ and the recorder may not
// include os/ and ask secure_getenv themselves; detached.cpp hands the whole of it to a program that it
// starts.
//
// In a program that has more rights than who started it (setuid, setgid, file capabilities) the environment
// is the caller's, and naming files in it would be using those rights: there it counts as empty.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace plat::os {

std::optional<std::string> variable(const std::string& name);

// Names of the variables that begin so, in no order.
std::vector<std::string> variables_with(std::string_view prefix);

}  // namespace plat::os
