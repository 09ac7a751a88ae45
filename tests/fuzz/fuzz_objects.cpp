// SPDX-License-Identifier: Apache-2.0
// Any bytes are a script of calls on managed memory, notifies, streams, reductions and snapshots
// (support/object_play.h), or, with PLAT_PRODUCT=200i-a2-rc, on buffers of queues, or, with PLAT_PRODUCT=950,
// on counting notifies; the library must answer each as the model does.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "play.h"
#include "support/object_play.h"

using namespace plat;

namespace {

constexpr size_t kMostRecords = 2000;

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  fuzz::use_machine("2", "64MiB", "256MiB");
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const char* product = std::getenv("PLAT_PRODUCT");
  const bool is_rc = product != nullptr && std::strcmp(product, "200i-a2-rc") == 0;
  const bool is_950 = product != nullptr && std::strcmp(product, "950") == 0;
  using Machine = test::ObjectPlayer::Machine;
  return fuzz::play(test::ObjectPlayer(is_rc    ? Machine::Rc
                                       : is_950 ? Machine::A950
                                                : Machine::A2),
                    data, size, kMostRecords * test::kRecordBytes);
}
