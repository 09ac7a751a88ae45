// SPDX-License-Identifier: Apache-2.0
// Any bytes are a script of calls (support/vmm_play.h); the library must answer each as the reference model
// does.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/units.h"
#include "play.h"
#include "support/vmm_play.h"

using namespace plat;

namespace {

constexpr size_t kMostRecords = 2000;

test::VmmModel::Settings settings() {
  const char* product = std::getenv("PLAT_PRODUCT");
  const bool is_950 = product != nullptr && std::strcmp(product, "950") == 0;
  test::VmmModel::Settings settings;
  settings.generation = is_950 ? rules::Generation::V3 : rules::Generation::V2;
  settings.devices = 3;
  settings.open_devices = 3;
  settings.capacity_bytes = 1_GiB + 64_MiB;
  settings.host_capacity_bytes = 16_MiB;
  settings.giant_pages = !is_950;
  settings.expected_address = !is_950;
#ifdef __SANITIZE_THREAD__
  settings.fixed_addresses = false;
#endif
  return settings;
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  fuzz::use_machine("3", "1088MiB", "16MiB");
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return fuzz::play(test::Player(settings()), data, size, kMostRecords * test::kRecordBytes);
}
