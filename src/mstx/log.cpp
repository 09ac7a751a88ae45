#include "mstx/log.h"

#include <stdlib.h>

#include <cstdio>

namespace plat::mstx {

void warn_line(const std::string& line) {
  const char* quiet = secure_getenv("PLAT_QUIET");
  if (quiet != nullptr && *quiet != '\0' && *quiet != '0') return;
  std::fprintf(stderr, "plat mstx: %s\n", line.c_str());
}

}  // namespace plat::mstx
