// SPDX-License-Identifier: Apache-2.0
// Any bytes are a script of calls on managed memory, notifies, reductions and snapshots
// (support/object_play.h), or, with PLAT_PRODUCT=200i-a2-rc, on buffers of queues; the library must answer
// each as the model does.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "support/object_play.h"

using namespace plat;

namespace {

constexpr size_t kMostRecords = 2000;

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  setenv("PLAT_NODE", "private", 1);
  setenv("PLAT_DEVICES", "2", 1);
  setenv("PLAT_CAPACITY", "64MiB", 1);
  setenv("PLAT_HOST_CAPACITY", "256MiB", 1);
  setenv("PLAT_LOG", "off", 0);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const char* product = std::getenv("PLAT_PRODUCT");
  const bool is_rc = product != nullptr && std::strcmp(product, "200i-a2-rc") == 0;
  test::ObjectPlayer player(is_rc ? test::ObjectPlayer::Machine::Rc : test::ObjectPlayer::Machine::A2);
  if (player.play({data, std::min(size, kMostRecords * test::kRecordBytes)})) return 0;
  std::fprintf(stderr, "%s\nthe last calls:\n%s", player.difference().c_str(), player.history().c_str());
  std::abort();
}
