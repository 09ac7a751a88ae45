// SPDX-License-Identifier: Apache-2.0
#include "share/fabric.h"

#include "device/super_pod.h"
#include "rules/rules.h"
#include "share/shareable.h"

namespace plat::share {

Result<> want_fabric(const vmm::Vmm& vmm) {
  const device::Config& config = vmm.node().config();
  if (!config.product->cross_server)
    return fail(RuleId::ShareFabric, "shareType", "{} has no fabric handles", config.product->soc_name);
  if (config.server == device::kNoServer)
    return fail(RuleId::ShareFabric, "shareType",
                "this machine is no server of a super-pod (PLAT_SERVER=none)");
  return {};
}

Result<FabricHandle> read_fabric(const void* bytes) {
  const FabricHandle handle = FabricHandle::read(bytes);
  if (handle.mark != kFabricMark)
    return fail(RuleId::ShareType, "shareType", "the {} bytes begin with {:#x}, which is no fabric handle",
                sizeof handle, handle.mark);
  if (handle.version != kFabricVersion)
    return fail(RuleId::ShareUnknown, "shareableHandle", "a fabric handle of version {}, this library has {}",
                handle.version, kFabricVersion);
  if (handle.device != device_of(handle.share))
    return fail(RuleId::ShareUnknown, "shareableHandle",
                "a fabric handle of device {} with the number {:#x} of device {}", handle.device,
                handle.share, device_of(handle.share));
  return handle;
}

Result<FabricHandle> export_fabric(vmm::Vmm& vmm, vmm::PhysicalHandle handle, uint64_t flags) {
  uint64_t key = 0;
  while (key == 0) key = secret(vmm.node());
  PLAT_ASSIGN(share, export_share(vmm, handle, flags, key));
  const uint32_t server = vmm.node().config().server;
  FabricHandle made{};
  made.mark = kFabricMark;
  made.version = kFabricVersion;
  made.server = server;
  made.device = device_of(share.number);
  made.sdid = device::super_device_id(server, made.device);
  made.flags = static_cast<uint32_t>(flags);
  made.share = share.number;
  made.incarnation = share.incarnation;
  made.key = key;
  made.size_bytes = share.size_bytes;
  made.page_bytes = share.page_bytes;
  return made;
}

Result<> allow_fabric(vmm::Vmm& vmm, const FabricHandle& handle, std::span<const int32_t> pids) {
  if (handle.server != vmm.node().config().server)
    return fail(RuleId::ShareNotExporter, "shareableHandle",
                "server {} exported the memory, this is server {}", handle.server,
                vmm.node().config().server);
  return allow(vmm, handle.share, pids, handle.key);
}

Result<vmm::PhysicalHandle> import_fabric(vmm::Vmm& vmm, const FabricHandle& handle, uint32_t device,
                                          RemoteMemory& remote) {
  if (handle.server != vmm.node().config().server) return remote.import_remote(vmm, handle, device);
  return import_handle(vmm, handle.share, device, handle.key);
}

}  // namespace plat::share
