// SPDX-License-Identifier: Apache-2.0
// Calls that clients are known to make in order to see them fail: they ask whether there is a device yet, and
// start and end twice.
#pragma once

#include <string_view>

#include "rules/rules.h"

namespace plat::rules {

bool is_known_probe(RuleId rule, std::string_view function);

}  // namespace plat::rules
