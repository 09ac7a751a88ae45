// SPDX-License-Identifier: Apache-2.0
// One line on stderr for what a user of tools should know and no return value can say. PLAT_QUIET=1 silences
// it.
#pragma once

#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <string>
#include <utility>

#include "base/unsignalled.h"

namespace plat::mstx {

inline bool is_on(const char* variable) {
  const char* const value = secure_getenv(variable);
  return value != nullptr && *value != '\0' && *value != '0';
}

template <class... Args>
void warn(fmt::format_string<Args...> format, Args&&... args) {
  if (is_on("PLAT_QUIET")) return;
  const std::string line = "plat mstx: " + fmt::format(format, std::forward<Args>(args)...) + "\n";
  const Unsignalled unsignalled;  // it may be a pipe that nobody reads any more
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace plat::mstx
