// SPDX-License-Identifier: Apache-2.0
// The settings under which a command looks at machines, or a program will run.
#pragma once

#include <map>
#include <string>

#include "device/config.h"

namespace plat::cli {

// The settings of this process with some of them replaced, as the library would read them, the directory
// filled in.
device::Config settings_with(const std::map<std::string, std::string>& variables);

// Prints what is wrong with the settings, if anything; true if nothing is.
bool settings_make_sense(const device::Config& config);

}  // namespace plat::cli
