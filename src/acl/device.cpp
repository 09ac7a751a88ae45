// SPDX-License-Identifier: Apache-2.0
// Devices: how many, which product, how much memory, who reaches whom. Which one a thread uses is in
// context.cpp.
#include "acl/acl_rt.h"
#include "acl/entry.h"
#include "acl/use.h"

using namespace plat;
using plat::acl::entry;
using plat::acl::Runtime;
using plat::acl::want;

namespace plat::acl {

Result<> want_virtual_memory(Runtime& runtime) {
  const device::Product& product = runtime.node.product();
  if (product.virtual_memory) [[likely]]
    return {};
  return fail(RuleId::ProductSupport, "", "{} ({}) has no virtual memory management", product.soc_name,
              product.name);
}

namespace {

Result<uint32_t> peer_of(Runtime& runtime, uint32_t device, int32_t peer_id) {
  PLAT_ASSIGN(peer, runtime.node.physical_id(peer_id, "peerDeviceId"));
  if (peer == device)
    return fail(RuleId::PeerSelf, "peerDeviceId", "device {} was named as its own peer", peer_id);
  if (!runtime.node.product().peer_access)
    return fail(RuleId::ProductSupport, "peerDeviceId", "{} has no peer access",
                runtime.node.product().soc_name);
  return peer;
}

}  // namespace

void enable_peer(Runtime& runtime, uint32_t device, uint32_t peer) {
  if (device == peer || peer >= device::kMaxDevices || !runtime.node.product().peer_access) return;
  runtime.node.set_peer(device, peer, true);
}

namespace {

// The memory that an attribute asks about.
bool is_present(const device::Product& product, aclrtMemAttr attribute) {
  switch (attribute) {
    case ACL_HBM_MEM_HUGE1G:
    case ACL_MEM_HUGE1G:
    case ACL_MEM_P2P_HUGE1G:
    case ACL_HBM_MEM_P2P_HUGE1G:
      return product.giant_pages;
    case ACL_DDR_MEM:
    case ACL_DDR_MEM_HUGE:
    case ACL_DDR_MEM_NORMAL:
      return !product.has_hbm;
    case ACL_DDR_MEM_P2P_HUGE:
    case ACL_DDR_MEM_P2P_NORMAL:
      return !product.has_hbm && product.peer_access;
    case ACL_HBM_MEM_P2P_HUGE:
    case ACL_HBM_MEM_P2P_NORMAL:
    case ACL_MEM_P2P_NORMAL:
    case ACL_MEM_P2P_HUGE:
      return product.peer_access;
    default:
      return true;  // a question about HBM is answered with DDR where there is no HBM
  }
}

bool counts_whole_pages(aclrtMemAttr attribute) {
  switch (attribute) {
    case ACL_DDR_MEM:
    case ACL_HBM_MEM:
    case ACL_DDR_MEM_NORMAL:
    case ACL_HBM_MEM_NORMAL:
    case ACL_MEM_NORMAL:
    case ACL_DDR_MEM_P2P_NORMAL:
    case ACL_HBM_MEM_P2P_NORMAL:
    case ACL_MEM_P2P_NORMAL:
      return false;
    default:
      return true;
  }
}

}  // namespace
}  // namespace plat::acl

extern "C" {

aclError aclrtGetDeviceCount(uint32_t* count) {
  return entry("aclrtGetDeviceCount", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(count, "count"));
    PLAT_TRY(runtime.node.check_settings());
    *count = runtime.node.visible_count();
    return {};
  });
}

aclError aclrtGetRunMode(aclrtRunMode* runMode) {
  return entry("aclrtGetRunMode", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(runMode, "runMode"));
    *runMode = runtime.node.product().runs_on_device ? ACL_DEVICE : ACL_HOST;
    return {};
  });
}

const char* aclrtGetSocName() {
  const char* name = nullptr;
  entry("aclrtGetSocName", [&](Runtime& runtime) -> Result<> {
    name = runtime.node.product().soc_name;
    return {};
  });
  return name;
}

aclError aclrtDeviceGetBareTgid(int32_t* pid) {
  return entry("aclrtDeviceGetBareTgid", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(pid, "pid"));
    *pid = runtime.node.bare_pid();
    return {};
  });
}

aclError aclrtDeviceCanAccessPeer(int32_t* canAccessPeer, int32_t deviceId, int32_t peerDeviceId) {
  return entry("aclrtDeviceCanAccessPeer", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(canAccessPeer, "canAccessPeer"));
    PLAT_ASSIGN(device, runtime.node.physical_id(deviceId, "deviceId"));
    PLAT_ASSIGN(peer, runtime.node.physical_id(peerDeviceId, "peerDeviceId"));
    if (device == peer) return fail(RuleId::PeerSelf, "peerDeviceId", "both ids are {}", deviceId);
    *canAccessPeer = runtime.node.product().peer_access ? 1 : 0;
    return {};
  });
}

aclError aclrtDeviceEnablePeerAccess(int32_t peerDeviceId, uint32_t flags) {
  return entry("aclrtDeviceEnablePeerAccess", [&](Runtime& runtime) -> Result<> {
    if (flags != 0) return fail(RuleId::PeerFlags, "flags", "flags is {}", flags);
    PLAT_ASSIGN(device, acl::current_device(runtime));
    PLAT_ASSIGN(peer, acl::peer_of(runtime, device, peerDeviceId));
    acl::enable_peer(runtime, device, peer);
    return {};
  });
}

aclError aclrtDeviceDisablePeerAccess(int32_t peerDeviceId) {
  return entry("aclrtDeviceDisablePeerAccess", [&](Runtime& runtime) -> Result<> {
    PLAT_ASSIGN(device, acl::current_device(runtime));
    PLAT_ASSIGN(peer, acl::peer_of(runtime, device, peerDeviceId));
    runtime.node.set_peer(device, peer, false);
    return {};
  });
}

aclError aclrtDevicePeerAccessStatus(int32_t deviceId, int32_t peerDeviceId, int32_t* status) {
  return entry("aclrtDevicePeerAccessStatus", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(status, "status"));
    PLAT_ASSIGN(device, runtime.node.physical_id(deviceId, "deviceId"));
    PLAT_ASSIGN(peer, acl::peer_of(runtime, device, peerDeviceId));
    *status = runtime.node.is_peer(device, peer) ? 1 : 0;
    return {};
  });
}

aclError aclrtGetMemInfo(aclrtMemAttr attr, size_t* free, size_t* total) {
  return entry("aclrtGetMemInfo", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(free, "free"));
    PLAT_TRY(want(total, "total"));
    PLAT_ASSIGN(device, acl::current_device(runtime));
    if (static_cast<unsigned>(attr) > ACL_MEM_P2P_HUGE1G)
      return fail(RuleId::MemInfoAttribute, "attr", "attr is {}", static_cast<int>(attr));
    if (!acl::is_present(runtime.node.product(), attr)) {
      *free = *total = 0;
      return {};
    }
    PLAT_ASSIGN(bank, runtime.node.bank(device));
    const device::Usage usage = bank->ledger().usage();
    *free = acl::counts_whole_pages(attr) ? usage.free_page_bytes : usage.free_bytes;
    *total = usage.total_bytes;
    return {};
  });
}

}  // extern "C"
