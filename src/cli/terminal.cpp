// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal.h"

#include <fmt/format.h>

#include "base/text.h"

namespace plat::cli {

void show(std::FILE* to, const std::string& text) { fmt::print(to, "{}", visible_lines(text)); }

}  // namespace plat::cli
