// SPDX-License-Identifier: Apache-2.0
// Pools over a counting device, driven against a naive model, with device calls that fail
// (support/pool_driver.h).
#include "soak/campaign.h"
#include "support/pool_driver.h"

int main(int argc, char** argv) {
  constexpr size_t kOperationBytes = 40000;
  plat::soak::Campaign campaign("pool", argc, argv);
  for (uint64_t number = 0; campaign.time_left(); ++number) {
    const uint64_t seed = campaign.seed() * 1000003 + number;
    const std::string wrong = plat::test::drive_pool_with_seed(seed, kOperationBytes);
    if (!wrong.empty()) campaign.violation(fmt::format("pool seed {}: {}", seed, wrong));
    campaign.calls += kOperationBytes / 4;  // an operation takes up to four bytes
    ++campaign.rounds;
  }
  return campaign.finish();
}
