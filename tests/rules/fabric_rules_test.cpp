// SPDX-License-Identifier: Apache-2.0
// Fabric handles on one server: every rule broken and kept, and what is asked first.
#include <cstring>
#include <thread>

#include "rules/memory_fixture.h"
#include "share/fabric_handle.h"
#include "support/peer.h"

namespace plat::rule_test {
namespace {

using share::FabricHandle;
using test::Channel;
using test::Peer;

constexpr auto kDefault = ACL_MEM_SHARE_HANDLE_TYPE_DEFAULT;
#define ON_A3 \
  { "PLAT_PRODUCT", "a3" }

// What aclrtMemExportToShareableHandleV2 gives for other servers.
aclrtMemFabricHandle export_fabric(aclrtDrvMemHandle handle, uint64_t flags = kEverybody) {
  aclrtMemFabricHandle fabric{};
  EXPECT_OK(aclrtMemExportToShareableHandleV2(handle, flags, kFabric, &fabric));
  return fabric;
}

// Memory of the host, in huge pages; all else is 0.
aclrtPhysicalMemProp host_prop() {
  aclrtPhysicalMemProp prop{};
  prop.memAttr = ACL_MEM_P2P_HUGE;
  prop.location.type = ACL_MEM_LOCATION_TYPE_HOST;
  return prop;
}

// aclrtMemImportFromShareableHandleV2 of a fabric handle.
aclError import(aclrtMemFabricHandle& fabric, aclrtDrvMemHandle* handle = nullptr) {
  aclrtDrvMemHandle unused = nullptr;
  return aclrtMemImportFromShareableHandleV2(&fabric, kFabric, 0, handle != nullptr ? handle : &unused);
}

// The handle with something else in it.
aclrtMemFabricHandle changed(const aclrtMemFabricHandle& fabric, const auto& change) {
  FabricHandle inside = FabricHandle::read(&fabric);
  change(inside);
  aclrtMemFabricHandle result{};
  inside.write(&result);
  return result;
}

void refuses_fabric() {
  Memory m;
  aclrtMemFabricHandle fabric{};
  int32_t pid = 1;
  EXPECT_BREAKS(aclrtMemExportToShareableHandleV2(m.handle, 0, kFabric, &fabric));
  EXPECT_BREAKS(aclrtMemSetPidToShareableHandleV2(&fabric, kFabric, &pid, 1));
  EXPECT_BREAKS(import(fabric, &m.handle));
  for (const uint8_t byte : fabric.data) EXPECT_EQ(byte, 0);
}

RULE_BROKEN(ShareFabric, {"PLAT_PRODUCT", "a2"}) { refuses_fabric(); }
RULE_KEPT(ShareFabric, ON_A3, {"PLAT_SERVER", "1022"}) {
  Memory m;
  aclrtMemFabricHandle fabric = export_fabric(m.handle);
  EXPECT_EQ(FabricHandle::read(&fabric).server, 1022u);
}
TEST(Fabric, NeedsAServer) {
  rule_under_test() = RuleId::ShareFabric;
  run({ON_A3, {"PLAT_SERVER", "none"}}, refuses_fabric);
  run({{"PLAT_PRODUCT", "950"}, {"PLAT_SERVER", "3"}}, refuses_fabric);
}

RULE_BROKEN(FabricDaemon, ON_A3) {
  Memory m;
  auto foreign = changed(export_fabric(m.handle), [](FabricHandle& inside) { inside.server = 7; });
  aclrtDrvMemHandle handle = nullptr;
  EXPECT_BREAKS(import(foreign, &handle));
  EXPECT_EQ(handle, nullptr);
}
RULE_KEPT(FabricDaemon, ON_A3) {
  EXPECT_OK(aclrtSetDevice(0));
  auto fabric = export_fabric(physical(2_MiB, host_prop()));
  EXPECT_OK(import(fabric));
}

RULE_BROKEN(ShareOwnOtherDevice, ON_A3, {"PLAT_RULES", "SHARE-Import-own-memory=error"}) {
  Memory m;
  auto fabric = export_fabric(m.handle);
  EXPECT_OK(aclrtSetDevice(1));
  EXPECT_BREAKS(import(fabric));
}
RULE_KEPT(ShareOwnOtherDevice, ON_A3, {"PLAT_RULES", "SHARE-Import-own-memory=error"}) {
  // Host memory lies on no device: the driver lets its owner import it, and so do transfer libraries.
  EXPECT_OK(aclrtSetDevice(0));
  aclrtDrvMemHandle own = physical(2_MiB, host_prop()), imported = nullptr;
  auto fabric = export_fabric(own);
  EXPECT_OK(import(fabric, &imported));
  EXPECT_NE(imported, own);
}

// What is wrong with a call is told in the order of the driver.
TEST(Fabric, ChecksInOrder) {
  run({ON_A3}, [] {
    Memory m;
    aclrtMemFabricHandle fabric{};
    int32_t pid = 1;
    const auto bad_type = static_cast<aclrtMemSharedHandleType>(3);
    EXPECT_EQ(aclrtMemExportToShareableHandleV2(nullptr, 9, bad_type, &fabric), 100000);
    EXPECT_EQ(aclrtMemExportToShareableHandleV2(m.handle, 9, bad_type, nullptr), 100000);
    EXPECT_EQ(aclrtMemExportToShareableHandleV2(m.handle, 9, bad_type, &fabric), 107000);
    EXPECT_EQ(aclrtMemExportToShareableHandleV2(m.handle, 2, kFabric, &fabric), 107000);
    EXPECT_EQ(aclrtMemSetPidToShareableHandleV2(nullptr, bad_type, &pid, 1), 100000);
    EXPECT_EQ(aclrtMemSetPidToShareableHandleV2(&fabric, bad_type, nullptr, 1), 100000);
    EXPECT_EQ(aclrtMemSetPidToShareableHandleV2(&fabric, bad_type, &pid, 0), 100000);
    EXPECT_EQ(aclrtMemSetPidToShareableHandleV2(&fabric, bad_type, &pid, 1), 107000);
    EXPECT_EQ(aclrtMemImportFromShareableHandleV2(&fabric, bad_type, 1, &m.handle), 100000);
    EXPECT_EQ(aclrtMemImportFromShareableHandleV2(&fabric, bad_type, 0, &m.handle), 107000);
    EXPECT_EQ(aclrtMemImportFromShareableHandleV2(&fabric, kFabric, 0, &m.handle), 107000);  // no content
    std::thread([&] {                                                                        // no device
      EXPECT_EQ(aclrtMemExportToShareableHandleV2(m.handle, 2, kFabric, &fabric), 107000);
      EXPECT_EQ(aclrtMemExportToShareableHandleV2(m.handle, 0, kFabric, &fabric), 107002);
      EXPECT_EQ(aclrtMemImportFromShareableHandleV2(&fabric, bad_type, 0, &m.handle), 107002);
      EXPECT_EQ(aclrtMemImportFromShareableHandleV2(nullptr, kFabric, 0, &m.handle), 100000);
    })
        .join();
    fabric = export_fabric(m.handle);
    EXPECT_EQ(aclrtMemExportToShareableHandleV2(m.handle, 0, kFabric, &fabric), 507899);
    EXPECT_EQ(aclrtMemExportToShareableHandleV2(m.handle, 0, kDefault, &fabric), 507899);
    EXPECT_EQ(aclrtMemSetPidToShareableHandleV2(&fabric, kFabric, &pid, 1), 207006);
    EXPECT_EQ(import(fabric), 507899);  // its own, on its own device
  });
}

// A handle that was changed anywhere in what counts names nothing; the two types are told apart.
TEST(Fabric, MangledHandlesAreUnknown) {
  run({ON_A3, {"PLAT_NODE", "shared"}}, [] {
    Peer exporter([](Channel& channel) {
      Memory m;
      const auto fabric = export_fabric(m.handle);
      channel.send_text(std::string(reinterpret_cast<const char*>(fabric.data), sizeof fabric));
      channel.receive();
    });
    EXPECT_OK(aclrtSetDevice(0));
    const std::string text = exporter.channel().receive_text();
    aclrtMemFabricHandle fabric{};
    ASSERT_EQ(text.size(), sizeof fabric);
    std::memcpy(&fabric, text.data(), sizeof fabric);
    const auto code = [&](const auto& change) {
      auto mangled = changed(fabric, change);
      return import(mangled);
    };
    EXPECT_EQ(code([](FabricHandle& h) { h.key ^= 1; }), 107017);
    EXPECT_EQ(code([](FabricHandle& h) { h.share ^= uint64_t{1} << 50; }), 107017);
    EXPECT_EQ(code([](FabricHandle& h) { h.share = 0; }), 107017);
    EXPECT_EQ(code([](FabricHandle& h) { h.device = 1; }), 107017);
    EXPECT_EQ(code([](FabricHandle& h) { h.version = 2; }), 107017);
    EXPECT_EQ(code([](FabricHandle& h) { h.mark = 2; }), 107000);
    uint64_t number = FabricHandle::read(&fabric).share;  // no way around the key
    aclrtDrvMemHandle handle = nullptr;
    EXPECT_EQ(aclrtMemImportFromShareableHandle(number, 0, &handle), 107017);
    EXPECT_EQ(aclrtMemImportFromShareableHandleV2(&number, kDefault, 0, &handle), 107017);
    EXPECT_EQ(aclrtMemImportFromShareableHandleV2(&fabric, kDefault, 0, &handle), 107000);
    int32_t pid = 1;
    EXPECT_EQ(aclrtMemSetPidToShareableHandleV2(&fabric, kDefault, &pid, 1), 107000);
    EXPECT_EQ(aclrtMemSetPidToShareableHandleV2(&fabric, kFabric, &pid, 1), 507899);  // not the exporter
    EXPECT_EQ(import(fabric), 0);
    exporter.channel().send(0);
    EXPECT_TRUE(exporter.join());
  });
}

// The exporting process reaches its own host memory, and that of its other device, through a second handle.
TEST(Fabric, OwnMemoryIsImportedAsAHandleOfItsOwn) {
  run({ON_A3, {"PLAT_LOG", "off"}}, [] {
    EXPECT_OK(aclrtSetDevice(1));
    EXPECT_OK(aclrtSetDevice(0));
    for (const aclrtPhysicalMemProp& prop : {host_prop(), device_prop(1)}) {
      size_t before = 0, after = 0, total = 0;
      EXPECT_OK(aclrtGetMemInfo(ACL_HBM_MEM, &before, &total));
      aclrtDrvMemHandle own = physical(2_MiB, prop), imported = nullptr;
      auto fabric = export_fabric(own);
      EXPECT_OK(import(fabric, &imported));
      EXPECT_NE(imported, own);
      aclrtDrvMemHandle again = nullptr;
      EXPECT_OK(import(fabric, &again));  // the same device: the same handle, counted
      EXPECT_EQ(again, imported);
      EXPECT_OK(aclrtFreePhysical(again));
      aclrtMemFabricHandle other{};
      EXPECT_EQ(aclrtMemExportToShareableHandleV2(imported, 0, kFabric, &other), 507899);
      void* here = reserve(2_MiB);
      void* there = reserve(2_MiB);
      EXPECT_OK(aclrtMapMem(here, 2_MiB, 0, own, 0));
      EXPECT_OK(aclrtMapMem(there, 2_MiB, 0, imported, 0));
      EXPECT_OK(aclrtMemset(here, 4096, 7, 4096));
      // Each holds the memory by itself.
      EXPECT_OK(aclrtUnmapMem(here));
      EXPECT_OK(aclrtFreePhysical(own));
      unsigned char byte = 0;
      EXPECT_OK(aclrtMemcpy(&byte, 1, there, 1, ACL_MEMCPY_DEVICE_TO_HOST));
      EXPECT_EQ(byte, 7);
      EXPECT_OK(aclrtUnmapMem(there));
      EXPECT_OK(aclrtFreePhysical(imported));
      EXPECT_EQ(aclrtFreePhysical(imported), 107017);
      EXPECT_EQ(import(fabric), 107017);
      EXPECT_OK(aclrtGetMemInfo(ACL_HBM_MEM, &after, &total));
      EXPECT_EQ(after, before);
    }
  });
}

}  // namespace
}  // namespace plat::rule_test
