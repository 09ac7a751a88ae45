// SPDX-License-Identifier: Apache-2.0
// The calls of acl_rt_device.h: which devices there are, which one a thread uses, who reaches whom.
#include "acl/acl_rt_device.h"

#include <array>
#include <atomic>

#include "acl/acl_rt.h"
#include "acl/current.h"
#include "acl/entry.h"
#include "acl/no_effect.h"
#include "acl/regions.h"
#include "acl/teardown.h"
#include "os/thread_sanitizer.h"

using namespace plat;
using plat::acl::entry;
using plat::acl::Runtime;
using plat::acl::want;
using plat::acl::want_size;
using plat::acl::want_zero;

namespace plat::acl {

Error no_virtual_memory(const Runtime& runtime) {
  const device::Product& product = runtime.node.product();
  return Error{RuleId::ProductSupport, "",
               fmt::format("{} ({}) has no virtual memory management", product.soc_name, product.name)};
}

Result<uint32_t> open_device(Runtime& runtime, int32_t id) {
  PLAT_ASSIGN(device, runtime.node.physical_id(id, "deviceId"));
  PLAT_TRY(runtime.node.bank(device::BankId(device)));
  const device::Product& product = runtime.node.product();
  runtime.streams.set_limits(product.streams_max, product.events_max, product.notifies_max);
  runtime.node.set_open(device, true);
  listen_to_regions();
  return device;
}

void close_device(Runtime& runtime, uint32_t device) {
  if (!runtime.streams.contexts().is_used(static_cast<int>(device))) runtime.node.set_open(device, false);
}

namespace {

// How operators round, by physical number: clients choose it at start-up, and there are no operators here.
std::array<std::atomic<aclrtFloatOverflowMode>, device::kMaxDevices> overflow_modes{};
// Functions of the client's; no lock is held.
void tell(const Runtime& runtime, int32_t id, aclrtDeviceState state) {
  for (const auto& callback : runtime.device_callbacks.all()) {
    const os::tsan::Watched watched;
    callback.function(id, state, callback.argument);
  }
}

constexpr const char* kNoOperators = "there are no operators here";

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

}  // namespace plat::acl

extern "C" {

aclError aclrtSetDevice(int32_t deviceId) {
  return entry("aclrtSetDevice", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(runtime.node.physical_id(deviceId, "deviceId"));
    acl::tell(runtime, deviceId, ACL_RT_DEVICE_STATE_SET_PRE);
    PLAT_ASSIGN(device, acl::open_device(runtime, deviceId));
    PLAT_TRY(runtime.streams.set_device(static_cast<int>(device)));
    acl::tell(runtime, deviceId, ACL_RT_DEVICE_STATE_SET_POST);
    return {};
  });
}

aclError aclrtResetDevice(int32_t deviceId) {
  return entry("aclrtResetDevice", [&](Runtime& runtime) -> Result<> {
    PLAT_ASSIGN(device, runtime.node.physical_id(deviceId, "deviceId"));
    acl::tell(runtime, deviceId, ACL_RT_DEVICE_STATE_RESET_PRE);
    PLAT_TRY(runtime.streams.reset_device(static_cast<int>(device)));
    acl::close_device(runtime, device);
    acl::tell(runtime, deviceId, ACL_RT_DEVICE_STATE_RESET_POST);
    return {};
  });
}

aclError aclrtResetDeviceForce(int32_t deviceId) {
  return entry("aclrtResetDeviceForce", [&](Runtime& runtime) -> Result<> {
    PLAT_ASSIGN(device, runtime.node.physical_id(deviceId, "deviceId"));
    acl::tell(runtime, deviceId, ACL_RT_DEVICE_STATE_RESET_PRE);
    PLAT_TRY(runtime.streams.reset_device_force(static_cast<int>(device)));
    acl::release_memory(runtime, device, "aclrtResetDeviceForce");
    acl::close_device(runtime, device);
    acl::tell(runtime, deviceId, ACL_RT_DEVICE_STATE_RESET_POST);
    return {};
  });
}

aclError aclrtGetDevice(int32_t* deviceId) {
  return entry("aclrtGetDevice", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(deviceId, "deviceId"));
    PLAT_ASSIGN(device, acl::current_device(runtime));
    *deviceId = runtime.node.logical_id(device);
    return {};
  });
}

aclError aclrtGetDeviceCount(uint32_t* count) {
  return entry("aclrtGetDeviceCount", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(count, "count"));
    PLAT_TRY(runtime.node.check_settings());
    PLAT_TRY(runtime.node.check_visible());
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

aclError aclrtMemP2PMap(void* devPtr, size_t size, int32_t dstDevId, uint64_t flags) {
  return entry("aclrtMemP2PMap", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(devPtr, "devPtr"));
    PLAT_TRY(want_size(size, "size"));
    PLAT_TRY(want_zero(flags, "flags"));
    PLAT_ASSIGN(target, runtime.node.physical_id(dstDevId, "dstDevId"));
    PLAT_TRY(acl::current_device(runtime));
    if (!runtime.node.product().peer_access)
      return fail(RuleId::ProductSupport, "dstDevId", "{} has no peer access",
                  runtime.node.product().soc_name);
    PLAT_TRY(runtime.mover.check(va_of(devPtr), size, vmm::kNone, "devPtr"));
    const uint32_t owner = runtime.vmm.space().entry(va_of(devPtr)).bank().value;
    if (owner >= device::kMaxDevices || owner == target || !runtime.node.is_peer(target, owner))
      return fail(RuleId::PeerMap, "dstDevId", "the memory at {} is {}, and device {} {}", fmt::ptr(devPtr),
                  owner >= device::kMaxDevices ? "no device's" : fmt::format("of device {}", owner), target,
                  owner == target ? "has it itself" : "may not reach it");
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

aclError aclrtSynchronizeDevice() {
  return entry("aclrtSynchronizeDevice",
               [&](Runtime& runtime) { return acl::settled(runtime, runtime.streams.synchronize_device()); });
}

aclError aclrtSynchronizeDeviceWithTimeout(int32_t timeout) {
  return entry("aclrtSynchronizeDeviceWithTimeout", [&](Runtime& runtime) {
    return acl::settled(runtime, runtime.streams.synchronize_device(timeout));
  });
}

aclError aclrtSetDeviceSatMode(aclrtFloatOverflowMode mode) {
  return entry("aclrtSetDeviceSatMode", [&](Runtime& runtime) -> Result<> {
    if (mode != ACL_RT_OVERFLOW_MODE_SATURATION && mode != ACL_RT_OVERFLOW_MODE_INFNAN)
      return fail(RuleId::ArgEnum, "mode", "mode is {}", static_cast<int>(mode));
    PLAT_ASSIGN(device, acl::current_device(runtime));
    acl::overflow_modes[device] = mode;
    return acl::accept_without_effect(acl::kNoOperators);
  });
}

aclError aclrtGetDeviceSatMode(aclrtFloatOverflowMode* mode) {
  return entry("aclrtGetDeviceSatMode", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(mode, "mode"));
    PLAT_ASSIGN(device, acl::current_device(runtime));
    *mode = acl::overflow_modes[device];
    return {};
  });
}

aclError aclrtSetOpExecuteTimeOut(uint32_t) {  // any number of seconds is one
  return entry("aclrtSetOpExecuteTimeOut",
               [&](Runtime&) { return acl::accept_without_effect(acl::kNoOperators); });
}

}  // extern "C"
