// SPDX-License-Identifier: Apache-2.0
// A fabric handle: the 128 bytes that stand for a physical handle on every server of a super-pod.
//
// Clients carry it from process to process and from server to server, and never look inside. All numbers are
// in the byte order of the machine; what is not used is zero.
#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "acl/acl_rt_vmm.h"
#include "base/fabric_origin.h"

namespace plat::share {

using plat::kFabricMark;
using plat::kFabricVersion;

struct FabricHandle {
  uint32_t mark;         // kFabricMark
  uint32_t version;      // of this layout
  uint32_t server;       // that has the memory
  uint32_t sdid;         // of the device that has it, as the pod calls it (device/super_pod.h)
  uint32_t device;       // its number at that server; device::kHostBank for host memory
  uint32_t flags;        // of the export
  uint64_t share;        // the number of the export at that server
  uint64_t incarnation;  // of the exporting process in the ledger there
  uint64_t key;          // random: who cannot name it has no business with the memory
  uint64_t size_bytes;
  uint64_t page_bytes;
  uint8_t reserved[64];  // for the daemons

  static FabricHandle read(const void* bytes) {
    FabricHandle handle;
    std::memcpy(&handle, bytes, sizeof handle);
    return handle;
  }
  void write(void* bytes) const { std::memcpy(bytes, this, sizeof *this); }
};

static_assert(sizeof(FabricHandle) == sizeof(aclrtMemFabricHandle) &&
              std::is_trivially_copyable_v<FabricHandle> &&
              offsetof(FabricHandle, server) == kFabricServerOffset);

}  // namespace plat::share
