// SPDX-License-Identifier: Apache-2.0
#include "mstx/log.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/unsignalled.h"

namespace plat::mstx {

void warn_line(const std::string& line) {
  const char* quiet = secure_getenv("PLAT_QUIET");
  if (quiet != nullptr && *quiet != '\0' && *quiet != '0') return;
  const std::string whole = "plat mstx: " + line + "\n";
  const Unsignalled unsignalled;  // it may be a pipe that nobody reads any more
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, whole.data(), whole.size());
}

}  // namespace plat::mstx
