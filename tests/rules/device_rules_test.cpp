// SPDX-License-Identifier: Apache-2.0
// Opening devices and joining a machine: every rule broken and kept.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>

#include "device/ledger_layout.h"
#include "device/node.h"
#include "os/file.h"
#include "rules/memory_fixture.h"
#include "support/peer.h"

namespace plat::rule_test {
namespace {

using test::Channel;
using test::Peer;

RULE_BROKEN(DeviceId) {
  EXPECT_BREAKS(aclrtSetDevice(2));
  EXPECT_BREAKS(aclrtSetDevice(-1));
  EXPECT_OK(aclrtSetDevice(0));
  aclrtPhysicalMemProp prop = device_prop(7);
  aclrtDrvMemHandle handle = nullptr;
  size_t granularity = 0;
  EXPECT_BREAKS(aclrtMallocPhysical(&handle, 2_MiB, &prop, 0));
  EXPECT_BREAKS(aclrtMemGetAllocationGranularity(&prop, ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM, &granularity));
  EXPECT_BREAKS(aclrtMemImportFromShareableHandle(1, 5, &handle));
}
RULE_KEPT(DeviceId, {"ASCEND_RT_VISIBLE_DEVICES", "1"}) {
  uint32_t count = 0;
  EXPECT_OK(aclrtGetDeviceCount(&count));
  EXPECT_EQ(count, 1u);
  EXPECT_OK(aclrtSetDevice(0));
}

RULE_BROKEN(DeviceSettings, {"PLAT_CAPACITY", "63MB and a bit"}) {
  EXPECT_BREAKS(aclrtSetDevice(0));
  uint32_t count = 0;
  EXPECT_BREAKS(aclrtGetDeviceCount(&count));
  EXPECT_NE(std::string(aclGetRecentErrMsg()).find("PLAT_CAPACITY"), std::string::npos);
}
RULE_KEPT(DeviceSettings, {"PLAT_CAPACITY", "6MiB"}) {
  EXPECT_OK(aclrtSetDevice(0));
  size_t free_bytes = 0, total_bytes = 0;
  EXPECT_OK(aclrtGetMemInfo(ACL_HBM_MEM, &free_bytes, &total_bytes));
  EXPECT_EQ(total_bytes, 6_MiB);
}

RULE_BROKEN(DeviceOpen, {"PLAT_NODE", "shared"}, {"PLAT_DIR", "/proc/plat-cannot-be-here"}) {
  EXPECT_BREAKS(aclrtSetDevice(0));
}
RULE_KEPT(DeviceOpen, {"PLAT_NODE", "shared"}) {
  // The files may live in any directory of the user's own.
  char directory[] = "/tmp/plat-test-XXXXXX";
  ASSERT_NE(mkdtemp(directory), nullptr);
  setenv("PLAT_DIR", directory, 1);
  EXPECT_OK(aclrtSetDevice(0));
  const std::string remove = std::string("rm -rf ") + directory;
  EXPECT_EQ(system(remove.c_str()), 0);
}

// As ulimit -f does.
void limit_file_size(uint64_t bytes) {
  const rlimit limit{bytes, bytes};
  EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

// As under valgrind, or after ulimit -v; not by that limit, because a sanitizer needs addresses of its own.
void take_addresses_away() {
  for (uint64_t size_bytes = 64_TiB; size_bytes >= 256_GiB; size_bytes /= 2)
    while (mmap(nullptr, size_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) !=
           MAP_FAILED) {
    }
}

RULE_BROKEN(DeviceLimits, {"PLAT_CAPACITY", "1TiB"}, {"PLAT_DEVICES", "2"}) {
  take_addresses_away();
  EXPECT_BREAKS(aclrtSetDevice(0));
  EXPECT_NE(std::string(aclGetRecentErrMsg()).find("ulimit -v"), std::string::npos) << aclGetRecentErrMsg();
  limit_file_size(16_MiB);
  EXPECT_BREAKS(aclrtSetDevice(1));
  EXPECT_NE(std::string(aclGetRecentErrMsg()).find("ulimit -f"), std::string::npos) << aclGetRecentErrMsg();
}
RULE_KEPT(DeviceLimits, {"PLAT_CAPACITY", "64MiB"}) {
  limit_file_size(128_MiB);
  EXPECT_OK(aclrtSetDevice(0));
}

// A control file of another layout, with somebody alive on it.
void occupy(uint32_t layout_version, Channel& channel) {
  const std::string path = device::Node::default_directory() + "/" + getenv("PLAT_NODE") + "-dev0";
  os::make_private_directory(device::Node::default_directory());
  const os::Fd fd = os::open_private_file(path, true);
  device::LedgerHeader header{};
  header.magic = device::kLedgerMagic;
  header.layout_version = layout_version;
  header.slot_offset = sizeof header;
  header.slot_stride = sizeof(device::ProcessSlot);
  EXPECT_EQ(pwrite(fd.get(), &header, sizeof header, 0), static_cast<ssize_t>(sizeof header));
  const int32_t pid = getpid();
  EXPECT_EQ(pwrite(fd.get(), &pid, sizeof pid, sizeof header + offsetof(device::ProcessSlot, pid)),
            static_cast<ssize_t>(sizeof pid));
  EXPECT_EQ(os::try_lock_byte(fd.get(), device::kSlotLockByte), 0);
  channel.send(0);
  channel.receive();
}

RULE_BROKEN(DeviceVersion, {"PLAT_NODE", "shared"}) {
  Peer old([](Channel& channel) { occupy(device::kLayoutVersion + 1, channel); });
  old.channel().receive();
  EXPECT_BREAKS(aclrtSetDevice(0));
  EXPECT_NE(std::string(aclGetRecentErrMsg()).find("pid " + std::to_string(old.pid())), std::string::npos)
      << aclGetRecentErrMsg();
}
RULE_KEPT(DeviceVersion, {"PLAT_NODE", "shared"}) {
  // Left over, but nobody lives on it: the file is made anew.
  Peer old([](Channel& channel) { occupy(device::kLayoutVersion + 1, channel); });
  old.channel().receive();
  old.kill_now();
  EXPECT_OK(aclrtSetDevice(0));
}

RULE_BROKEN(DeviceConflict, {"PLAT_NODE", "shared"}) {
  Peer first([](Channel& channel) {
    EXPECT_OK(aclrtSetDevice(0));
    channel.send(0);
    channel.receive();
  });
  first.channel().receive();
  setenv("PLAT_CAPACITY", "32MiB", 1);
  EXPECT_BREAKS(aclrtSetDevice(0));
}
RULE_KEPT(DeviceConflict, {"PLAT_NODE", "shared"}) {
  Peer first([](Channel& channel) {
    EXPECT_OK(aclrtSetDevice(0));
    channel.send(0);
    channel.receive();
  });
  first.channel().receive();
  unsetenv("PLAT_CAPACITY");  // no wish of its own: the machine's capacity holds
  EXPECT_OK(aclrtSetDevice(0));
  size_t free_bytes = 0, total_bytes = 0;
  EXPECT_OK(aclrtGetMemInfo(ACL_HBM_MEM, &free_bytes, &total_bytes));
  EXPECT_EQ(total_bytes, 64_MiB);
}

RULE_BROKEN(DeviceProcesses, {"PLAT_NODE", "shared"}) {
  std::vector<std::unique_ptr<Peer>> peers;
  for (uint32_t i = 0; i < device::kMaxProcesses; ++i) {
    peers.push_back(std::make_unique<Peer>([](Channel& channel) {
      EXPECT_OK(aclrtSetDevice(0));
      channel.send(0);
      channel.receive();
    }));
    peers.back()->channel().receive();
  }
  EXPECT_BREAKS(aclrtSetDevice(0));
  peers.back()->kill_now();
  EXPECT_OK(aclrtSetDevice(0));  // its place is free again
}
RULE_KEPT(DeviceProcesses, {"PLAT_NODE", "shared"}) { EXPECT_OK(aclrtSetDevice(0)); }

RULE_BROKEN(DeviceForked) {
  EXPECT_OK(aclrtSetDevice(0));
  void* block = nullptr;
  char byte = 1;
  EXPECT_OK(aclrtMalloc(&block, 64, ACL_MEM_MALLOC_HUGE_FIRST));
  const auto copy = [&] { return aclrtMemcpy(block, 1, &byte, 1, ACL_MEMCPY_HOST_TO_DEVICE); };
  for (int i = 0; i < 3; ++i) EXPECT_OK(copy());
  Peer child([&](Channel&) {
    EXPECT_BREAKS(copy());  // the parent's thread knew the way
    int32_t device = 0;
    EXPECT_BREAKS(aclrtGetDevice(&device));
    void* va = nullptr;
    EXPECT_BREAKS(aclrtReserveMemAddress(&va, 2_MiB, 0, nullptr, 0));
    EXPECT_BREAKS(aclrtSetDevice(0));
  });
  EXPECT_TRUE(child.join());
}
RULE_KEPT(DeviceForked, {"PLAT_NODE", "shared"}) {
  Memory m;
  m.map();
  const char parents = 'p', childs = 'c';
  char back = 0;
  for (int i = 0; i < 3; ++i) EXPECT_OK(aclrtMemcpy(m.va, 1, &parents, 1, ACL_MEMCPY_HOST_TO_DEVICE));
  Peer child([&](Channel&) {
    EXPECT_OK(aclInit(nullptr));
    Memory mine;
    EXPECT_NE(aclrtMemcpy(mine.va, 1, &childs, 1, ACL_MEMCPY_HOST_TO_DEVICE), ACL_SUCCESS);
    mine.map();
    for (int i = 0; i < 3; ++i) EXPECT_OK(aclrtMemcpy(mine.va, 1, &childs, 1, ACL_MEMCPY_HOST_TO_DEVICE));
    EXPECT_OK(aclrtUnmapMem(mine.va));
    EXPECT_NE(aclrtMemcpy(mine.va, 1, &childs, 1, ACL_MEMCPY_HOST_TO_DEVICE), ACL_SUCCESS);
    mine.map();
    size_t free_bytes = 0, total_bytes = 0;
    EXPECT_OK(aclrtGetMemInfo(ACL_HBM_MEM, &free_bytes, &total_bytes));
    EXPECT_EQ(total_bytes - free_bytes, 4_MiB);  // the parent's and its own
  });
  EXPECT_TRUE(child.join());

  size_t free_bytes = 0, total_bytes = 0;
  EXPECT_OK(aclrtGetMemInfo(ACL_HBM_MEM, &free_bytes, &total_bytes));
  EXPECT_EQ(total_bytes - free_bytes, 2_MiB);
  EXPECT_OK(aclrtMemcpy(&back, 1, m.va, 1, ACL_MEMCPY_DEVICE_TO_HOST));
  EXPECT_EQ(back, parents);
}

RULE_BROKEN(ProductSupport, {"PLAT_PRODUCT", "200i-a2-rc"}) {
  void* va = nullptr;
  aclrtDrvMemHandle handle = nullptr;
  aclrtPhysicalMemProp prop = device_prop();
  EXPECT_OK(aclrtSetDevice(0));
  EXPECT_BREAKS(aclrtReserveMemAddress(&va, 2_MiB, 0, nullptr, 0));
  EXPECT_BREAKS(aclrtMallocPhysical(&handle, 2_MiB, &prop, 0));
  EXPECT_BREAKS(aclrtMapMem(&va, 2_MiB, 0, &handle, 0));
}
RULE_KEPT(ProductSupport, {"PLAT_PRODUCT", "200i-a2"}) {
  void* va = nullptr;
  aclrtDrvMemHandle handle = nullptr;
  aclrtPhysicalMemProp prop = device_prop();
  EXPECT_OK(aclrtSetDevice(0));
  EXPECT_OK(aclrtReserveMemAddress(&va, 2_MiB, 0, nullptr, 0));
  EXPECT_OK(aclrtMallocPhysical(&handle, 2_MiB, &prop, 0));
  EXPECT_OK(aclrtMapMem(va, 2_MiB, 0, handle, 0));
}
TEST(Products, RefuseWhatTheyLack) {
  rule_under_test() = RuleId::ProductSupport;
  run({{"PLAT_PRODUCT", "950"}}, [] {
    void* va = nullptr;
    EXPECT_BREAKS(aclrtReserveMemAddress(&va, 2_MiB, 0, reinterpret_cast<void*>(0x101000000000), 0));
    aclrtPhysicalMemProp prop = device_prop(0, ACL_HBM_MEM_HUGE1G);
    size_t granularity = 0;
    EXPECT_BREAKS(
        aclrtMemGetAllocationGranularity(&prop, ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM, &granularity));
  });
  run({{"PLAT_PRODUCT", "200i-a2"}}, [] {
    Memory m;
    m.map();
    aclrtMemAccessDesc access{};
    access.flags = ACL_RT_MEM_ACCESS_FLAGS_READWRITE;
    access.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
    EXPECT_OK(aclrtMemSetAccess(m.va, 2_MiB, &access, 1));
    access.location.id = 1;
    EXPECT_BREAKS(aclrtMemSetAccess(m.va, 2_MiB, &access, 1));
  });
  run({{"PLAT_PRODUCT", "inference"}}, [] { EXPECT_BREAKS(aclrtSetOpWaitTimeout(1)); });
  run({{"PLAT_PRODUCT", "200"}}, [] {
    void* va = nullptr;
    EXPECT_BREAKS(aclrtReserveMemAddress(&va, 2_MiB, 0, nullptr, 0));
  });
  run({}, [] {
    void* va = nullptr;
    EXPECT_BREAKS(aclrtReserveMemAddressNoUCMemory(&va, 1_GiB, 0, reinterpret_cast<void*>(40_TiB), 0));
  });
}

RULE_BROKEN(NoContext) {
  size_t free_bytes = 0, total_bytes = 0;
  int32_t device = 77;
  aclrtDrvMemHandle handle = nullptr;
  EXPECT_BREAKS(aclrtGetMemInfo(ACL_HBM_MEM, &free_bytes, &total_bytes));
  EXPECT_BREAKS(aclrtGetDevice(&device));
  EXPECT_EQ(device, 77);
  EXPECT_BREAKS(aclrtMemImportFromShareableHandle(1, 0, &handle));
  aclrtPhysicalMemProp prop{};
  prop.memAttr = ACL_MEM_HUGE;
  prop.location.type = ACL_MEM_LOCATION_TYPE_HOST_NUMA;
  EXPECT_BREAKS(aclrtMallocPhysical(&handle, 2_MiB, &prop, 0));
  prop.location.type = ACL_MEM_LOCATION_TYPE_HOST;
  EXPECT_OK(aclrtMallocPhysical(&handle, 2_MiB, &prop, 0));
}
RULE_KEPT(NoContext) {
  EXPECT_NE(reserve(2_MiB), nullptr);  // needs none
  EXPECT_OK(aclrtSetDevice(1));
  int32_t device = 77;
  EXPECT_OK(aclrtGetDevice(&device));
  EXPECT_EQ(device, 1);
}

RULE_BROKEN(InitRepeated) {
  EXPECT_OK(aclInit(nullptr));
  EXPECT_BREAKS(aclInit(nullptr));
}
RULE_KEPT(InitRepeated) {
  EXPECT_OK(aclInit(nullptr));
  EXPECT_OK(aclFinalize());
  EXPECT_OK(aclInit(nullptr));
}
RULE_BROKEN(InitConfigFile) { EXPECT_BREAKS(aclInit("/no/such/file.json")); }
RULE_KEPT(InitConfigFile) { EXPECT_OK(aclInit("/proc/self/comm")); }
RULE_BROKEN(FinalizeRepeated) {
  EXPECT_OK(aclInit(nullptr));
  EXPECT_OK(aclFinalize());
  EXPECT_BREAKS(aclFinalize());
}
RULE_KEPT(FinalizeRepeated) {
  EXPECT_OK(aclInit(nullptr));
  EXPECT_OK(aclFinalize());
}
TEST(Finalize, TellsWhatIsLeft) {
  run({}, [] {
    EXPECT_OK(aclInit(nullptr));
    uint64_t left = 99;
    EXPECT_OK(aclFinalizeReference(&left));
    EXPECT_EQ(left, 0u);
  });
}

RULE_BROKEN(PeerSelf) {
  EXPECT_OK(aclrtSetDevice(0));
  int32_t can = 0;
  EXPECT_BREAKS(aclrtDeviceCanAccessPeer(&can, 1, 1));
  EXPECT_BREAKS(aclrtDeviceEnablePeerAccess(0, 0));
}
RULE_KEPT(PeerSelf) {
  EXPECT_OK(aclrtSetDevice(0));
  int32_t status = 9;
  EXPECT_OK(aclrtDevicePeerAccessStatus(0, 1, &status));
  EXPECT_EQ(status, 0);
  EXPECT_OK(aclrtDeviceEnablePeerAccess(1, 0));
  EXPECT_OK(aclrtDevicePeerAccessStatus(0, 1, &status));
  EXPECT_EQ(status, 1);
  EXPECT_OK(aclrtDevicePeerAccessStatus(1, 0, &status));  // one direction only
  EXPECT_EQ(status, 0);
  EXPECT_OK(aclrtDeviceDisablePeerAccess(1));
  EXPECT_OK(aclrtDevicePeerAccessStatus(0, 1, &status));
  EXPECT_EQ(status, 0);
}
RULE_BROKEN(PeerFlags) {
  EXPECT_OK(aclrtSetDevice(0));
  EXPECT_BREAKS(aclrtDeviceEnablePeerAccess(1, 1));
}
RULE_KEPT(PeerFlags) {
  EXPECT_OK(aclrtSetDevice(0));
  EXPECT_OK(aclrtDeviceEnablePeerAccess(1, 0));
}

RULE_BROKEN(MemInfoAttribute) {
  EXPECT_OK(aclrtSetDevice(0));
  size_t free_bytes = 0, total_bytes = 0;
  EXPECT_BREAKS(aclrtGetMemInfo(static_cast<aclrtMemAttr>(18), &free_bytes, &total_bytes));
  EXPECT_BREAKS(aclrtGetMemInfo(static_cast<aclrtMemAttr>(-1), &free_bytes, &total_bytes));
}
RULE_KEPT(MemInfoAttribute) {
  EXPECT_OK(aclrtSetDevice(0));
  size_t free_bytes = 0, total_bytes = 0;
  EXPECT_OK(aclrtGetMemInfo(ACL_DDR_MEM, &free_bytes, &total_bytes));  // absent on this product
  EXPECT_EQ(total_bytes, 0u);
  EXPECT_OK(aclrtGetMemInfo(ACL_HBM_MEM_HUGE, &free_bytes, &total_bytes));
  EXPECT_EQ(total_bytes, 64_MiB);
}

}  // namespace
}  // namespace plat::rule_test
