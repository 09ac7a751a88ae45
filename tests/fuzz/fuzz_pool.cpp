// SPDX-License-Identifier: Apache-2.0
// Operation sequences on a pool, with faults at device calls, against the naive model of the driver.
#include <cstdio>
#include <cstdlib>

#include "support/pool_driver.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string problem = plat::test::drive_pool(data, size);
  if (!problem.empty()) {
    std::fprintf(stderr, "%s\n", problem.c_str());
    std::abort();
  }
  return 0;
}
