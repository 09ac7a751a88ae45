// SPDX-License-Identifier: Apache-2.0
// Sharing between processes: every rule broken and kept.
#include <unistd.h>

#include "rules/memory_fixture.h"
#include "support/peer.h"

namespace plat::rule_test {
namespace {

using test::Channel;
using test::Peer;

#define ON_SHARED_MACHINE \
  { "PLAT_NODE", "shared" }

// What aclrtMemExportToShareableHandle gives.
uint64_t export_number(aclrtDrvMemHandle handle, uint64_t flags = 0) {
  uint64_t number = 0;
  EXPECT_OK(aclrtMemExportToShareableHandle(handle, ACL_MEM_HANDLE_TYPE_NONE, flags, &number));
  return number;
}

// An importer in another process: receives a number, sends back the code of its import.
void import_one(Channel& channel) {
  EXPECT_OK(aclrtSetDevice(0));
  aclrtDrvMemHandle handle = nullptr;
  for (;;) {
    const uint64_t number = channel.receive();
    if (number == 0) return;
    channel.send(static_cast<uint64_t>(aclrtMemImportFromShareableHandle(number, 0, &handle)));
  }
}

// What another process's import returned, checked against the rule as if it had happened here.
uint64_t ask(Peer& peer, uint64_t number) {
  peer.channel().send(number);
  return peer.channel().receive();
}

RULE_BROKEN(ShareFlags) {
  Memory m;
  uint64_t number = 0;
  EXPECT_BREAKS(aclrtMemExportToShareableHandle(m.handle, ACL_MEM_HANDLE_TYPE_NONE, 2, &number));
}
RULE_KEPT(ShareFlags) {
  Memory m;
  EXPECT_NE(export_number(m.handle, kEverybody), 0u);
}

RULE_BROKEN(ShareTwice) {
  Memory m;
  uint64_t number = export_number(m.handle);
  EXPECT_BREAKS(aclrtMemExportToShareableHandle(m.handle, ACL_MEM_HANDLE_TYPE_NONE, 0, &number));
  EXPECT_BREAKS(aclrtMemExportToShareableHandleV2(m.handle, 0, ACL_MEM_SHARE_HANDLE_TYPE_DEFAULT, &number));
}
RULE_KEPT(ShareTwice) {
  Memory m;
  EXPECT_NE(export_number(m.handle), export_number(physical(2_MiB)));
}

RULE_BROKEN(ShareImported, ON_SHARED_MACHINE) {
  Peer exporter([](Channel& channel) {
    Memory m;
    channel.send(export_number(m.handle, kEverybody));
    channel.receive();
  });
  EXPECT_OK(aclrtSetDevice(0));
  aclrtDrvMemHandle handle = nullptr;
  uint64_t number = exporter.channel().receive();
  EXPECT_OK(aclrtMemImportFromShareableHandle(number, 0, &handle));
  EXPECT_BREAKS(aclrtMemExportToShareableHandle(handle, ACL_MEM_HANDLE_TYPE_NONE, 0, &number));
  exporter.channel().send(0);
  EXPECT_TRUE(exporter.join());
}
RULE_KEPT(ShareImported) {
  Memory m;
  export_number(m.handle);
}

RULE_BROKEN(MapMixedOrigin, ON_SHARED_MACHINE) {
  Peer exporter([](Channel& channel) {
    Memory m;
    channel.send(export_number(m.handle, kEverybody));
    channel.receive();
  });
  Memory m;
  m.map();
  aclrtDrvMemHandle imported = nullptr;
  EXPECT_OK(aclrtMemImportFromShareableHandle(exporter.channel().receive(), 0, &imported));
  EXPECT_BREAKS(aclrtMapMem(offset(m.va, 2_MiB), 2_MiB, 0, imported, 0));
  void* range = reserve(4_MiB);
  EXPECT_OK(aclrtMapMem(range, 2_MiB, 0, imported, 0));
  EXPECT_BREAKS(aclrtMapMem(offset(range, 2_MiB), 2_MiB, 0, m.handle, 0));
  exporter.channel().send(0);
  EXPECT_TRUE(exporter.join());
}
RULE_KEPT(MapMixedOrigin) {
  Memory m;
  m.map();
  EXPECT_OK(aclrtMapMem(offset(m.va, 2_MiB), 2_MiB, 0, physical(2_MiB), 0));
}

RULE_BROKEN(ShareType) {
  Memory m;
  uint64_t number = 0;
  EXPECT_BREAKS(
      aclrtMemExportToShareableHandleV2(m.handle, 0, static_cast<aclrtMemSharedHandleType>(3), &number));
  EXPECT_BREAKS(
      aclrtMemImportFromShareableHandleV2(&number, static_cast<aclrtMemSharedHandleType>(0), 0, &m.handle));
}
RULE_KEPT(ShareType, ON_SHARED_MACHINE) {
  Peer exporter([](Channel& channel) {
    Memory m;
    uint64_t number = 0;
    EXPECT_OK(aclrtMemExportToShareableHandleV2(m.handle, 0, ACL_MEM_SHARE_HANDLE_TYPE_DEFAULT, &number));
    auto pid = static_cast<int32_t>(channel.receive());
    EXPECT_OK(aclrtMemSetPidToShareableHandleV2(&number, ACL_MEM_SHARE_HANDLE_TYPE_DEFAULT, &pid, 1));
    channel.send(number);
    channel.receive();
  });
  EXPECT_OK(aclrtSetDevice(0));
  int32_t pid = 0;
  EXPECT_OK(aclrtDeviceGetBareTgid(&pid));
  exporter.channel().send(static_cast<uint64_t>(pid));
  uint64_t number = exporter.channel().receive();
  aclrtDrvMemHandle handle = nullptr;
  EXPECT_OK(aclrtMemImportFromShareableHandleV2(&number, ACL_MEM_SHARE_HANDLE_TYPE_DEFAULT, 0, &handle));
  exporter.channel().send(0);
  EXPECT_TRUE(exporter.join());
}

RULE_BROKEN(ShareUnknown) {
  Memory m;
  const uint64_t number = export_number(m.handle);
  int32_t pid = getpid();
  aclrtDrvMemHandle handle = nullptr;
  for (uint64_t guess :
       {uint64_t{1}, number + 1, number ^ (uint64_t{1} << 50), number ^ (uint64_t{1} << 32), UINT64_MAX}) {
    EXPECT_BREAKS(aclrtMemImportFromShareableHandle(guess, 0, &handle));
    EXPECT_BREAKS(aclrtMemSetPidToShareableHandle(guess, &pid, 1));
  }
  EXPECT_OK(aclrtFreePhysical(m.handle));  // the last owner is gone, and the number with it
  EXPECT_BREAKS(aclrtMemImportFromShareableHandle(number, 0, &handle));
}
RULE_KEPT(ShareUnknown, ON_SHARED_MACHINE) {
  Peer importer(import_one);
  Peer late(import_one);
  Memory m;
  const uint64_t number = export_number(m.handle);
  int32_t pids[2] = {importer.pid(), late.pid()};
  EXPECT_OK(aclrtMemSetPidToShareableHandle(number, pids, 2));
  EXPECT_EQ(ask(importer, number), 0u);

  // The exporter frees first; the importer keeps the memory alive, and the number with it.
  EXPECT_OK(aclrtFreePhysical(m.handle));
  EXPECT_EQ(ask(late, number), 0u);
  size_t free_bytes = 0, total_bytes = 0;
  EXPECT_OK(aclrtGetMemInfo(ACL_HBM_MEM, &free_bytes, &total_bytes));
  EXPECT_EQ(total_bytes - free_bytes, 2_MiB);
  importer.kill_now();
  late.kill_now();
  EXPECT_OK(aclrtGetMemInfo(ACL_HBM_MEM, &free_bytes, &total_bytes));
  EXPECT_EQ(total_bytes, free_bytes);
}

RULE_BROKEN(SharePidCount) {
  Memory m;
  const uint64_t number = export_number(m.handle);
  std::vector<int32_t> pids(65536, 1);
  EXPECT_BREAKS(aclrtMemSetPidToShareableHandle(number, pids.data(), pids.size()));
}
RULE_KEPT(SharePidCount) {
  Memory m;
  const uint64_t number = export_number(m.handle);
  std::vector<int32_t> pids;
  for (int32_t pid = 1; pid <= 65535; ++pid) pids.push_back(pid);
  EXPECT_OK(aclrtMemSetPidToShareableHandle(number, pids.data(), pids.size()));
  EXPECT_OK(aclrtMemSetPidToShareableHandle(number, pids.data(), pids.size()));  // again: nothing is added
}

RULE_BROKEN(SharePidsZero) {
  Memory m;
  int32_t pids[2] = {0, 0};
  EXPECT_BREAKS(aclrtMemSetPidToShareableHandle(export_number(m.handle), pids, 2));
}
RULE_KEPT(SharePidsZero) {
  Memory m;
  int32_t pids[2] = {0, 4711};
  EXPECT_OK(aclrtMemSetPidToShareableHandle(export_number(m.handle), pids, 2));
}

RULE_BROKEN(ShareNotExporter, ON_SHARED_MACHINE) {
  Peer exporter([](Channel& channel) {
    Memory m;
    channel.send(export_number(m.handle));
    channel.receive();
  });
  EXPECT_OK(aclrtSetDevice(0));
  int32_t pid = getpid();
  EXPECT_BREAKS(aclrtMemSetPidToShareableHandle(exporter.channel().receive(), &pid, 1));
  exporter.channel().send(0);
  EXPECT_TRUE(exporter.join());
}
RULE_KEPT(ShareNotExporter) {
  Memory m;
  int32_t pid = 1;
  EXPECT_OK(aclrtMemSetPidToShareableHandle(export_number(m.handle), &pid, 1));
}

RULE_BROKEN(ShareNoWhitelist) {
  Memory m;
  int32_t pid = 1;
  EXPECT_BREAKS(aclrtMemSetPidToShareableHandle(export_number(m.handle, kEverybody), &pid, 1));
}
RULE_KEPT(ShareNoWhitelist) {
  Memory m;
  int32_t pid = 1;
  EXPECT_OK(aclrtMemSetPidToShareableHandle(export_number(m.handle), &pid, 1));
}

RULE_BROKEN(ShareFull) {
  Memory m;
  const uint64_t number = export_number(m.handle);
  std::vector<int32_t> pids(65535);
  aclError code = ACL_SUCCESS;
  for (int32_t round = 0; round < 12 && code == ACL_SUCCESS; ++round) {
    for (size_t i = 0; i < pids.size(); ++i) pids[i] = round * 65535 + static_cast<int32_t>(i) + 1;
    code = aclrtMemSetPidToShareableHandle(number, pids.data(), pids.size());
  }
  EXPECT_BREAKS(code);
}
RULE_KEPT(ShareFull) {
  // What one export gives up, the next can use.
  EXPECT_OK(aclrtSetDevice(0));
  std::vector<int32_t> pids(65535);
  for (int round = 0; round < 12; ++round) {
    for (size_t i = 0; i < pids.size(); ++i) pids[i] = static_cast<int32_t>(i) + 1;
    aclrtDrvMemHandle handle = physical(2_MiB);
    EXPECT_OK(aclrtMemSetPidToShareableHandle(export_number(handle), pids.data(), pids.size()));
    EXPECT_OK(aclrtFreePhysical(handle));
  }
}

RULE_BROKEN(ShareDenied, ON_SHARED_MACHINE) {
  Peer exporter([](Channel& channel) {
    Memory m;
    const uint64_t number = export_number(m.handle);
    int32_t somebody_else = 1;
    EXPECT_OK(aclrtMemSetPidToShareableHandle(number, &somebody_else, 1));
    channel.send(number);
    channel.receive();
  });
  EXPECT_OK(aclrtSetDevice(0));
  aclrtDrvMemHandle handle = nullptr;
  EXPECT_BREAKS(aclrtMemImportFromShareableHandle(exporter.channel().receive(), 0, &handle));
  EXPECT_EQ(handle, nullptr);
  exporter.channel().send(0);
  EXPECT_TRUE(exporter.join());
}
RULE_KEPT(ShareDenied, ON_SHARED_MACHINE) {
  Peer importer([](Channel& channel) {
    EXPECT_OK(aclrtSetDevice(0));
    int32_t pid = 0;
    EXPECT_OK(aclrtDeviceGetBareTgid(&pid));
    channel.send(static_cast<uint64_t>(pid));
    aclrtDrvMemHandle handle = nullptr;
    EXPECT_OK(aclrtMemImportFromShareableHandle(channel.receive(), 0, &handle));
    void* va = reserve(2_MiB);
    EXPECT_OK(aclrtMapMem(va, 2_MiB, 0, handle, 0));
    EXPECT_OK(aclrtUnmapMem(va));
    EXPECT_OK(aclrtFreePhysical(handle));
    channel.send(0);
  });
  Memory m;
  const uint64_t number = export_number(m.handle);
  auto pid = static_cast<int32_t>(importer.channel().receive());
  EXPECT_OK(aclrtMemSetPidToShareableHandle(number, &pid, 1));
  importer.channel().send(number);
  importer.channel().receive();
  EXPECT_TRUE(importer.join());
}

RULE_BROKEN(ShareOwnProcess) {
  Memory m;
  aclrtDrvMemHandle handle = nullptr;
  EXPECT_BREAKS(aclrtMemImportFromShareableHandle(export_number(m.handle, kEverybody), 0, &handle));
}
RULE_KEPT(ShareOwnProcess, {"PLAT_RULES", "SHARE-Import-other-process=warning"}) {
  Memory m;
  aclrtDrvMemHandle handle = nullptr;
  EXPECT_OK(aclrtMemImportFromShareableHandle(export_number(m.handle, kEverybody), 0, &handle));
  EXPECT_NE(handle, m.handle);
  EXPECT_OK(aclrtFreePhysical(handle));
  EXPECT_OK(aclrtFreePhysical(m.handle));
}

RULE_BROKEN(ShareImportTwice, ON_SHARED_MACHINE, {"PLAT_RULES", "SHARE-Import-once=error"}) {
  Peer exporter([](Channel& channel) {
    Memory m;
    channel.send(export_number(m.handle, kEverybody));
    channel.receive();
  });
  EXPECT_OK(aclrtSetDevice(0));
  aclrtDrvMemHandle handle = nullptr;
  const uint64_t number = exporter.channel().receive();
  EXPECT_OK(aclrtMemImportFromShareableHandle(number, 0, &handle));
  EXPECT_BREAKS(aclrtMemImportFromShareableHandle(number, 0, &handle));
  EXPECT_OK(aclrtFreePhysical(handle));
  EXPECT_OK(aclrtMemImportFromShareableHandle(number, 0, &handle));  // given up, so it may come again
  exporter.channel().send(0);
  EXPECT_TRUE(exporter.join());
}
RULE_KEPT(ShareImportTwice, ON_SHARED_MACHINE) {
  Peer exporter([](Channel& channel) {
    Memory m;
    channel.send(export_number(m.handle, kEverybody));
    channel.receive();
  });
  EXPECT_OK(aclrtSetDevice(0));
  aclrtDrvMemHandle first = nullptr, second = nullptr;
  const uint64_t number = exporter.channel().receive();
  EXPECT_OK(aclrtMemImportFromShareableHandle(number, 0, &first));
  EXPECT_OK(aclrtMemImportFromShareableHandle(number, 0, &second));
  EXPECT_EQ(first, second);
  EXPECT_OK(aclrtFreePhysical(first));
  EXPECT_OK(aclrtFreePhysical(second));
  exporter.channel().send(0);
  EXPECT_TRUE(exporter.join());
}

}  // namespace
}  // namespace plat::rule_test
