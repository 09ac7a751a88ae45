// SPDX-License-Identifier: Apache-2.0
// IPC keys of aclrtMalloc blocks: every rule broken and kept.
#include <unistd.h>

#include <cstring>
#include <memory>
#include <thread>

#include "device/super_pod.h"
#include "rules/memory_fixture.h"
#include "support/peer.h"

namespace plat::rule_test {
namespace {

using test::Channel;
using test::Peer;

// The flag that lets every process import.
constexpr uint64_t kEveryProcess = ACL_RT_IPC_MEM_EXPORT_FLAG_DISABLE_PID_VALIDATION;
// A key has 64 characters, and ends with a zero.
constexpr size_t kKeyBytes = 65;
#define ON_SHARED_MACHINE \
  { "PLAT_NODE", "shared" }

// What aclrtMalloc gives.
void* block(size_t size) {
  void* pointer = nullptr;
  EXPECT_OK(aclrtMalloc(&pointer, size, ACL_MEM_MALLOC_HUGE_FIRST));
  return pointer;
}

// What aclrtIpcMemGetExportKey gives.
std::string export_key(void* pointer, size_t size, uint64_t flags = 0) {
  char key[kKeyBytes] = {};
  EXPECT_OK(aclrtIpcMemGetExportKey(pointer, size, key, sizeof key, flags));
  EXPECT_EQ(strlen(key), 64u);
  return key;
}

// aclrtMemset of all of it.
void fill(void* pointer, size_t size, char value) { EXPECT_OK(aclrtMemset(pointer, size, value, size)); }

// The byte of device memory that is so far in.
char byte_at(const void* pointer, size_t at) {
  char value = 0;
  EXPECT_OK(aclrtMemcpy(&value, 1, static_cast<const char*>(pointer) + at, 1, ACL_MEMCPY_DEVICE_TO_HOST));
  return value;
}

// Exports a block of `size` bytes, sends the key, and keeps the block until it hears something.
std::function<void(Channel&)> exporter_of(size_t size, uint64_t flags) {
  return [=](Channel& channel) {
    EXPECT_OK(aclrtSetDevice(0));
    void* pointer = block(size);
    fill(pointer, size, 7);
    channel.send_text(export_key(pointer, size, flags));
    channel.receive();
    channel.send(static_cast<unsigned char>(byte_at(pointer, size - 1)));
    channel.receive();
  };
}

RULE_BROKEN(IpcArguments) {
  EXPECT_OK(aclrtSetDevice(0));
  void* pointer = block(4096);
  char key[kKeyBytes] = {};
  EXPECT_BREAKS(aclrtIpcMemGetExportKey(pointer, 0, key, sizeof key, 0));
  EXPECT_BREAKS(aclrtIpcMemGetExportKey(pointer, 4096, key, 64, 0));
  EXPECT_BREAKS(aclrtIpcMemGetExportKey(pointer, 4096, key, sizeof key, 2));
  int32_t pid = 1;
  EXPECT_BREAKS(aclrtIpcMemSetImportPid(key, &pid, 0));
  EXPECT_BREAKS(aclrtIpcMemSetImportPid(key, &pid, size_t{1} << 31));  // negative as the driver sees it
  EXPECT_BREAKS(aclrtIpcMemImportByKey(&pointer, key, 2));
  aclrtServerPid nobody{0, nullptr, 1};
  EXPECT_BREAKS(aclrtIpcMemImportPidInterServer(nullptr, &nobody, 1));
  EXPECT_BREAKS(aclrtIpcMemImportPidInterServer(key, nullptr, 1));
  EXPECT_BREAKS(aclrtIpcMemImportPidInterServer(key, &nobody, 0));
  EXPECT_BREAKS(aclrtIpcMemImportPidInterServer(key, &nobody, 1));
  EXPECT_BREAKS(aclrtIpcMemSetAttr(nullptr, ACL_RT_IPC_MEM_ATTR_ACCESS_LINK, 0));
  EXPECT_BREAKS(aclrtIpcMemSetAttr(key, static_cast<aclrtIpcMemAttrType>(1), 0));
  EXPECT_BREAKS(aclrtIpcMemSetAttr(key, ACL_RT_IPC_MEM_ATTR_ACCESS_LINK, 4));
}
RULE_KEPT(IpcArguments) {
  EXPECT_OK(aclrtSetDevice(0));
  EXPECT_EQ(export_key(block(4096), 4096).size(), 64u);
}

RULE_BROKEN(IpcMemory) {
  Memory m;
  m.map();
  char key[kKeyBytes] = {};
  int on_stack = 0;
  EXPECT_BREAKS(aclrtIpcMemGetExportKey(&on_stack, 4, key, sizeof key, 0));
  EXPECT_BREAKS(aclrtIpcMemGetExportKey(offset(m.va, 2_MiB), 2_MiB, key, sizeof key, 0));  // not mapped
  EXPECT_BREAKS(aclrtIpcMemGetExportKey(m.va, 2_MiB + 1, key, sizeof key, 0));
  uint64_t number = 0;
  EXPECT_OK(aclrtMemExportToShareableHandle(m.handle, ACL_MEM_HANDLE_TYPE_NONE, 0, &number));
  EXPECT_BREAKS(aclrtIpcMemGetExportKey(m.va, 2_MiB, key, sizeof key, 0));  // shared by its handle
  EXPECT_BREAKS(aclrtIpcMemGetExportKey(pointer_of(Va{UINT64_MAX - 4095}), 64, key, sizeof key, 0));
  void* pointer = block(4096);
  EXPECT_BREAKS(aclrtIpcMemGetExportKey(pointer, 1_MiB, key, sizeof key, 0));
  EXPECT_NE(std::string(aclGetRecentErrMsg()).find("of a block of 4096 bytes"), std::string::npos);
  EXPECT_OK(aclrtFree(pointer));
  EXPECT_BREAKS(aclrtIpcMemGetExportKey(pointer, 4096, key, sizeof key, 0));
}
RULE_KEPT(IpcMemory) {
  EXPECT_OK(aclrtSetDevice(0));
  export_key(block(6_MiB), 6_MiB);
  export_key(block(3000), 4096);  // the rest of its page is the block's too
}

RULE_BROKEN(IpcAligned) {
  Memory m;
  m.map();
  char key[kKeyBytes] = {};
  EXPECT_BREAKS(aclrtIpcMemGetExportKey(offset(m.va, 4096), 4096, key, sizeof key, 0));
  EXPECT_BREAKS(aclrtIpcMemGetExportKey(offset(block(4096), 512), 1024, key, sizeof key, 0));
  EXPECT_BREAKS(aclrtIpcMemGetExportKey(offset(block(6_MiB), 4096), 4096, key, sizeof key, 0));
  EXPECT_EQ(key[0], 0);
}
RULE_KEPT(IpcAligned) {
  EXPECT_OK(aclrtSetDevice(0));
  export_key(offset(block(6_MiB), 2_MiB), 100);  // the length needs no alignment
  export_key(offset(block(12000), 4096), 4096);  // small pages
}

// Mapped memory of a handle has a key like a block of aclrtMalloc, as long as the handle is not shared.
TEST(IpcMapping, IsReachedByKeyFromAnotherProcess) {
  run({ON_SHARED_MACHINE}, [] {
    Peer exporter([](Channel& channel) {
      EXPECT_OK(aclrtSetDevice(0));
      void* va = reserve(8_MiB);
      aclrtDrvMemHandle handle = physical(4_MiB);
      EXPECT_OK(aclrtMapMem(offset(va, 2_MiB), 4_MiB, 0, handle, 0));
      fill(offset(va, 2_MiB), 4_MiB, 7);
      channel.send_text(export_key(offset(va, 4_MiB), 1_MiB, kEveryProcess));
      channel.receive();
      channel.send(static_cast<unsigned char>(byte_at(va, 4_MiB + 5)));
      // Unmapped and freed here, it lives on where it was imported; the key opens nothing new.
      EXPECT_OK(aclrtUnmapMem(offset(va, 2_MiB)));
      EXPECT_OK(aclrtFreePhysical(handle));
      channel.send(0);
      channel.receive();
    });
    EXPECT_OK(aclrtSetDevice(0));
    const std::string key = exporter.channel().receive_text();
    char* imported = nullptr;
    EXPECT_OK(aclrtIpcMemImportByKey(reinterpret_cast<void**>(&imported), key.c_str(), 0));
    EXPECT_EQ(byte_at(imported, 1_MiB - 1), 7);
    fill(imported + 5, 1, 9);
    char beyond = 0;
    EXPECT_NE(aclrtMemcpy(&beyond, 1, imported + 1_MiB, 1, ACL_MEMCPY_DEVICE_TO_HOST), ACL_SUCCESS);
    exporter.channel().send(0);
    EXPECT_EQ(exporter.channel().receive(), 9u);
    exporter.channel().receive();
    EXPECT_EQ(byte_at(imported, 5), 9);
    EXPECT_OK(aclrtIpcMemClose(key.c_str()));
    size_t free_bytes = 0, total_bytes = 0;
    EXPECT_OK(aclrtGetMemInfo(ACL_HBM_MEM, &free_bytes, &total_bytes));
    EXPECT_EQ(free_bytes, total_bytes);
    EXPECT_EQ(aclrtIpcMemImportByKey(reinterpret_cast<void**>(&imported), key.c_str(), 0), 107017);
    exporter.channel().send(0);
    EXPECT_TRUE(exporter.join());
  });
}

// What is asked first, where several things are wrong.
TEST(IpcOrder, ContextComesAfterArgumentsAndBeforeTheRest) {
  run({}, [] {
    EXPECT_OK(aclrtSetDevice(0));
    void* pointer = block(4096);
    const std::string key = export_key(pointer, 4096);
    std::thread([&] {  // without a context
      char out[kKeyBytes] = {};
      int32_t pid = 1;
      aclrtServerPid server{0, &pid, 1};
      EXPECT_EQ(aclrtIpcMemGetExportKey(nullptr, 0, out, 0, 2), 100000);
      EXPECT_EQ(aclrtIpcMemGetExportKey(pointer, 4096, out, 0, 0), 107000);
      EXPECT_EQ(aclrtIpcMemGetExportKey(pointer, 4096, out, 64, 0), 107002);
      EXPECT_EQ(aclrtIpcMemSetImportPid(key.c_str(), &pid, 0), 107000);
      EXPECT_EQ(aclrtIpcMemSetImportPid("no key", &pid, 1), 107002);
      EXPECT_EQ(aclrtIpcMemImportPidInterServer(key.c_str(), &server, 1), 107002);
      EXPECT_EQ(aclrtIpcMemImportByKey(&pointer, key.c_str(), 2), 107000);
      EXPECT_EQ(aclrtIpcMemImportByKey(&pointer, key.c_str(), 0), 107002);
      EXPECT_EQ(aclrtIpcMemClose(nullptr), 100000);
      EXPECT_EQ(aclrtIpcMemClose(key.c_str()), 107002);
    })
        .join();
    char out[kKeyBytes] = {};
    int local = 0;
    EXPECT_EQ(aclrtIpcMemGetExportKey(&local, 4, out, 64, 0), 107000);
    EXPECT_EQ(aclrtIpcMemGetExportKey(&local, 4, out, 65, 0), 507899);
    EXPECT_OK(aclrtIpcMemClose(key.c_str()));
  });
}

// A key that only had its link chosen here is closed without effect on anybody.
TEST(IpcAttribute, IsEndedByCloseWithoutAnImport) {
  run({ON_SHARED_MACHINE, {"PLAT_PRODUCT", "a3"}}, [] {
    Peer exporter(exporter_of(4096, kEveryProcess));
    EXPECT_OK(aclrtSetDevice(0));
    const std::string key = exporter.channel().receive_text();
    EXPECT_EQ(aclrtIpcMemClose(key.c_str()), 107017);
    EXPECT_OK(aclrtIpcMemSetAttr(key.c_str(), ACL_RT_IPC_MEM_ATTR_ACCESS_LINK, 1));
    EXPECT_OK(aclrtIpcMemClose(key.c_str()));
    EXPECT_EQ(aclrtIpcMemClose(key.c_str()), 107017);
    void* imported = nullptr;
    EXPECT_OK(aclrtIpcMemImportByKey(&imported, key.c_str(), 0));
    EXPECT_OK(aclrtIpcMemClose(key.c_str()));
    exporter.channel().send(0);
    EXPECT_EQ(exporter.channel().receive(), 7u);
    exporter.channel().send(0);
    EXPECT_TRUE(exporter.join());
  });
}

RULE_BROKEN(IpcUnknown) {
  EXPECT_OK(aclrtSetDevice(0));
  void* pointer = block(4096);
  void* imported = nullptr;
  const std::string key = export_key(pointer, 4096, kEveryProcess);
  int32_t pid = 1;
  std::string other = key;
  other[20] = other[20] == 'a' ? 'b' : 'a';
  for (const std::string& wrong :
       {std::string("nonsense"), std::string(), key.substr(0, 63), other, std::string(64, 'f')}) {
    EXPECT_BREAKS(aclrtIpcMemImportByKey(&imported, wrong.c_str(), 0));
    EXPECT_BREAKS(aclrtIpcMemSetImportPid(wrong.c_str(), &pid, 1));
    EXPECT_BREAKS(aclrtIpcMemClose(wrong.c_str()));
  }
  EXPECT_OK(aclrtFree(pointer));  // the key ends with the block
  EXPECT_BREAKS(aclrtIpcMemImportByKey(&imported, key.c_str(), 0));
  EXPECT_BREAKS(aclrtIpcMemClose(key.c_str()));
}
RULE_KEPT(IpcUnknown, ON_SHARED_MACHINE) {
  Peer peer(exporter_of(4096, kEveryProcess));
  const std::string key = peer.channel().receive_text();
  EXPECT_OK(aclrtSetDevice(0));
  void* imported = nullptr;
  EXPECT_OK(aclrtIpcMemImportByKey(&imported, key.c_str(), 0));
  EXPECT_EQ(byte_at(imported, 0), 7);  // as the other process wrote it
  EXPECT_OK(aclrtIpcMemClose(key.c_str()));
}

// Write there, read at home; small and large blocks alike.
void use_blocks_of_peers() {
  const size_t sizes[2] = {3000, 6_MiB};
  Peer small(exporter_of(sizes[0], kEveryProcess));
  Peer large(exporter_of(sizes[1], kEveryProcess));
  for (Peer* which : {&small, &large}) {
    Peer& exporter = *which;
    const size_t size = sizes[which == &large];
    const std::string key = exporter.channel().receive_text();
    EXPECT_OK(aclrtSetDevice(0));
    void* imported = nullptr;
    EXPECT_OK(aclrtIpcMemImportByKey(&imported, key.c_str(), 0));
    EXPECT_EQ(byte_at(imported, size - 1), 7);
    fill(imported, size, 9);
    exporter.channel().send(0);
    EXPECT_EQ(exporter.channel().receive(), 9u);
    void* again = nullptr;
    EXPECT_OK(aclrtIpcMemImportByKey(&again, key.c_str(), 1));  // the same address, counted
    EXPECT_EQ(again, imported);
    EXPECT_OK(aclrtIpcMemClose(key.c_str()));
    exporter.kill_now();
    EXPECT_EQ(byte_at(imported, 0), 9);  // the importer keeps the memory alive
    EXPECT_OK(aclrtIpcMemClose(key.c_str()));
    EXPECT_NE(aclrtFree(imported), ACL_SUCCESS);  // an error, and no crash
  }
  size_t free_bytes = 0, total_bytes = 0;
  EXPECT_OK(aclrtGetMemInfo(ACL_HBM_MEM, &free_bytes, &total_bytes));
  EXPECT_EQ(free_bytes, total_bytes);
}
TEST(IpcMemory, IsWrittenThereAndReadAtHome) { run({ON_SHARED_MACHINE}, use_blocks_of_peers); }

RULE_BROKEN(IpcDenied, ON_SHARED_MACHINE) {
  Peer exporter(exporter_of(4096, 0));
  const std::string key = exporter.channel().receive_text();
  EXPECT_OK(aclrtSetDevice(0));
  void* imported = nullptr;
  EXPECT_BREAKS(aclrtIpcMemImportByKey(&imported, key.c_str(), 0));
  EXPECT_EQ(imported, nullptr);
}
RULE_KEPT(IpcDenied, ON_SHARED_MACHINE) {
  const auto me = static_cast<int32_t>(getpid());
  Peer exporter([me](Channel& channel) {
    EXPECT_OK(aclrtSetDevice(0));
    const std::string key = export_key(block(4096), 4096);
    int32_t pid = me;
    EXPECT_OK(aclrtIpcMemSetImportPid(key.c_str(), &pid, 1));
    channel.send_text(key);
    channel.receive();
  });
  EXPECT_OK(aclrtSetDevice(0));
  void* imported = nullptr;
  EXPECT_OK(aclrtIpcMemImportByKey(&imported, exporter.channel().receive_text().c_str(), 0));
}

RULE_BROKEN(IpcOwnProcess) {
  EXPECT_OK(aclrtSetDevice(0));
  void* imported = nullptr;
  EXPECT_BREAKS(aclrtIpcMemImportByKey(&imported, export_key(block(4096), 4096, kEveryProcess).c_str(), 0));
}
RULE_KEPT(IpcOwnProcess, {"PLAT_RULES", "IPC-Import-other-process=off"}) {
  EXPECT_OK(aclrtSetDevice(0));
  void* pointer = block(4096);
  void* imported = nullptr;
  EXPECT_OK(aclrtIpcMemImportByKey(&imported, export_key(pointer, 4096, kEveryProcess).c_str(), 0));
  EXPECT_EQ(imported, pointer);
}

RULE_BROKEN(IpcNotExporter, ON_SHARED_MACHINE) {
  Peer exporter(exporter_of(4096, 0));
  const std::string key = exporter.channel().receive_text();
  EXPECT_OK(aclrtSetDevice(0));
  int32_t pid = getpid();
  EXPECT_BREAKS(aclrtIpcMemSetImportPid(key.c_str(), &pid, 1));
}
RULE_KEPT(IpcNotExporter) {
  EXPECT_OK(aclrtSetDevice(0));
  int32_t pid = 1;
  EXPECT_OK(aclrtIpcMemSetImportPid(export_key(block(4096), 4096).c_str(), &pid, 1));
}

RULE_BROKEN(IpcNoWhitelist) {
  EXPECT_OK(aclrtSetDevice(0));
  int32_t pid = 1;
  EXPECT_BREAKS(aclrtIpcMemSetImportPid(export_key(block(4096), 4096, kEveryProcess).c_str(), &pid, 1));
}
RULE_KEPT(IpcNoWhitelist) {
  EXPECT_OK(aclrtSetDevice(0));
  int32_t pid = 1;
  EXPECT_OK(aclrtIpcMemSetImportPid(export_key(block(4096), 4096, 0).c_str(), &pid, 1));
}

RULE_BROKEN(IpcFull) {
  EXPECT_OK(aclrtSetDevice(0));
  void* pointer = block(4096);
  char key[kKeyBytes] = {};
  for (int i = 0; i < 16384; ++i)
    ASSERT_EQ(aclrtIpcMemGetExportKey(pointer, 64, key, sizeof key, 0), ACL_SUCCESS);
  EXPECT_BREAKS(aclrtIpcMemGetExportKey(pointer, 64, key, sizeof key, 0));
  EXPECT_OK(aclrtIpcMemClose(key));
  EXPECT_OK(aclrtIpcMemGetExportKey(pointer, 64, key, sizeof key, 0));
}
RULE_KEPT(IpcFull) {
  EXPECT_OK(aclrtSetDevice(0));
  export_key(block(4096), 64);
}

// -- Two rules that need copies

RULE_BROKEN(OutOfHostMemory, {"PLAT_KEEP_BACK", "1TiB"}) {
  Memory m;
  m.map();
  char byte = 1;
  EXPECT_BREAKS(aclrtMemcpy(m.va, 1, &byte, 1, ACL_MEMCPY_HOST_TO_DEVICE));
}
RULE_KEPT(OutOfHostMemory) {
  Memory m;
  m.map();
  char byte = 1;
  EXPECT_OK(aclrtMemcpy(m.va, 1, &byte, 1, ACL_MEMCPY_HOST_TO_DEVICE));
  EXPECT_EQ(byte_at(m.va, 0), 1);
}

RULE_BROKEN(HostTouch) {
  // The report comes from a signal, not from a call; tests/process/fault_test.cpp reads it. Here: the program
  // does not go on.
  Peer toucher([](Channel&) {
    setenv("PLAT_LOG", "off", 1);
    Memory m;
    m.map();
    freopen("/dev/null", "w", stderr);
    static_cast<volatile char*>(m.va)[0] = 1;
  });
  EXPECT_FALSE(toucher.join());

  broken_without_a_call();
}
RULE_KEPT(HostTouch, {"PLAT_HOST_ACCESS", "allow"}) {
  Memory m;
  m.map();
  static_cast<volatile char*>(m.va)[0] = 1;
  EXPECT_EQ(byte_at(m.va, 0), 1);
}

RULE_BROKEN(IpcServers, {"PLAT_PRODUCT", "a3"}) {
  EXPECT_OK(aclrtSetDevice(0));
  const std::string key = export_key(block(4096), 4096);
  int32_t pid = 1;
  aclrtServerPid servers[2] = {{device::super_device_id(0, 1), &pid, 1},
                               {device::super_device_id(3, 0), &pid, 1}};
  EXPECT_BREAKS(aclrtIpcMemImportPidInterServer(key.c_str(), servers, 2));
}
RULE_KEPT(IpcServers, ON_SHARED_MACHINE, {"PLAT_PRODUCT", "a3"}, {"PLAT_SERVER", "4"}) {
  Peer importer([](Channel& channel) {
    EXPECT_OK(aclrtSetDevice(0));
    int32_t pid = 0;
    EXPECT_OK(aclrtDeviceGetBareTgid(&pid));
    channel.send(static_cast<uint64_t>(pid));
    const std::string key = channel.receive_text();
    void* imported = nullptr;
    EXPECT_OK(aclrtIpcMemImportByKey(&imported, key.c_str(), 0));
  });
  EXPECT_OK(aclrtSetDevice(0));
  const std::string key = export_key(block(4096), 4096);
  int32_t pids[2] = {1, static_cast<int32_t>(importer.channel().receive())};
  // The number of an entry is cut to 31 bits.
  aclrtServerPid server{device::super_device_id(4, 0), pids, (size_t{1} << 31) + 2};
  EXPECT_OK(aclrtIpcMemImportPidInterServer(key.c_str(), &server, 1));
  importer.channel().send_text(key);
  EXPECT_TRUE(importer.join());
}

void expect_link_hint(bool known, const std::string& key, uint64_t link) {
  EXPECT_EQ(aclrtIpcMemSetAttr(key.c_str(), ACL_RT_IPC_MEM_ATTR_ACCESS_LINK, link),
            known      ? ACL_SUCCESS
            : link > 3 ? ACL_ERROR_RT_PARAM_INVALID
                       : ACL_ERROR_RT_LINK_TYPE_NOT_SUPPORTED)
      << link;
}
TEST(IpcAttribute, TakesTheLinksOfTheProduct) {
  for (const char* product : {"a2", "a3", "950"}) {
    run({{"PLAT_PRODUCT", product}}, [product] {
      EXPECT_OK(aclrtSetDevice(0));
      const std::string key = export_key(block(4096), 4096);
      for (const uint64_t link : {0, 1, 2, 3, 4})
        expect_link_hint((product == std::string("a3") && link <= 1) ||
                             (product == std::string("950") && (link == 2 || link == 3)),
                         key, link);
      EXPECT_EQ(aclrtIpcMemSetAttr(key.c_str(), static_cast<aclrtIpcMemAttrType>(1), 0),
                ACL_ERROR_RT_PARAM_INVALID);
      EXPECT_NE(aclrtIpcMemSetAttr("no such key", ACL_RT_IPC_MEM_ATTR_ACCESS_LINK, 0), ACL_SUCCESS);
    });
  }
}

}  // namespace
}  // namespace plat::rule_test
