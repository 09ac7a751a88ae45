// SPDX-License-Identifier: Apache-2.0
// The environment: the one door through which the house reads it.
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
