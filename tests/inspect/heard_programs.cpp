// SPDX-License-Identifier: Apache-2.0
// Programs of which the device itself has something to say: calls that it refuses, and calls that it lets
// pass with a warning.
#include "inspect/program.h"

namespace programs {

namespace {

// A call that is watched, three times in one place, and one that is not.
void map_and_ask(size_t offset, bool asks_rightly) {
  Device here;
  Mapped mapped(1);
  void* elsewhere = nullptr;
  MUST(aclrtReserveMemAddress(&elsewhere, Mapped::kPage, 0, nullptr, 0));
  for (int i = 0; i < 3; ++i)
    if (aclrtMapMem(elsewhere, Mapped::kPage, offset, mapped.handles[0], 0) == 0)
      MUST(aclrtUnmapMem(elsewhere));
  MUST(aclrtReleaseMemAddress(elsewhere));
  size_t free = 0, total = 0;
  aclrtGetMemInfo(ACL_HBM_MEM, &free, asks_rightly ? &total : nullptr);
  mapped.release();
}

void copy_to_peer(bool allowed) {
  Device device;
  char* const near = block(4096);
  MUST(aclrtSetDevice(1));
  char* const far = block(4096);
  MUST(aclrtSetDevice(0));
  if (allowed) MUST(aclrtDeviceEnablePeerAccess(1, 0));
  MUST(aclrtMemcpy(far, 4096, near, 4096, ACL_MEMCPY_DEVICE_TO_DEVICE));
  MUST(aclrtFree(near));
  MUST(aclrtFree(far));
  MUST(aclrtResetDevice(1));
}

}  // namespace

void add_heard_programs(Programs& all) {
  all["refused"] = [] { map_and_ask(4096, false); };
  all["refused_nothing"] = [] { map_and_ask(0, true); };
  // As clients ask whether there is a device yet, and start what may have been started.
  all["probes"] = [] {
    MUST(aclInit(nullptr));
    int32_t device = 0;
    aclrtGetDevice(&device);
    aclInit(nullptr);
    MUST(aclFinalize());
  };
  all["warned_of"] = [] { copy_to_peer(false); };
  all["warned_of_nothing"] = [] { copy_to_peer(true); };
}

}  // namespace programs
