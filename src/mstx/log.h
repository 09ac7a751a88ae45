// SPDX-License-Identifier: Apache-2.0
// One line on stderr for what a user of tools should know and no return value can say. PLAT_QUIET=1 silences
// it.
#pragma once

#include <fmt/format.h>

#include <string>

namespace plat::mstx {

void warn_line(const std::string& line);

template <class... Args>
void warn(fmt::format_string<Args...> format, Args&&... args) {
  warn_line(fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace plat::mstx
