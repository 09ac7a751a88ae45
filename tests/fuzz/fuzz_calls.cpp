// SPDX-License-Identifier: Apache-2.0
// Any bytes are a script of calls (support/vmm_play.h); the library must answer each as the reference model
// does.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/units.h"
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
  setenv("PLAT_NODE", "private", 1);
  setenv("PLAT_DEVICES", "3", 1);
  setenv("PLAT_CAPACITY", "1088MiB", 1);
  setenv("PLAT_HOST_CAPACITY", "16MiB", 1);
  setenv("PLAT_LOG", "off", 0);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // Each script takes down what it built, so the next one starts from nothing.
  test::Player player(settings());
  if (player.play({data, std::min(size, kMostRecords * test::kRecordBytes)})) return 0;
  std::fprintf(stderr, "%s\nthe last calls:\n%s", player.difference().c_str(), player.history().c_str());
  std::abort();
}
