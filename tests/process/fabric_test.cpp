// SPDX-License-Identifier: Apache-2.0
// Fabric handles between processes of one server: contents, whitelists, and who keeps the memory alive.
#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

#include "base/units.h"
#include "support/machine.h"
#include "support/peer.h"

namespace plat::test {
namespace {

constexpr auto kFabric = ACL_MEM_SHARE_HANDLE_TYPE_FABRIC;
constexpr uint64_t kEverybody = ACL_RT_VMM_EXPORT_FLAG_DISABLE_PID_VALIDATION;

#define EXPECT_DONE(call) EXPECT_EQ((call), ACL_SUCCESS) << aclGetRecentErrMsg()

void on_a3(const std::function<void()>& body) {
  in_child([&] {
    const Machine machine;
    setenv("PLAT_PRODUCT", "a3", 1);
    body();
  });
}

void send(Channel& channel, const aclrtMemFabricHandle& fabric) {
  channel.send_text(std::string(reinterpret_cast<const char*>(fabric.data), sizeof fabric));
}
aclrtMemFabricHandle receive(Channel& channel) {
  const std::string text = channel.receive_text();
  aclrtMemFabricHandle fabric{};
  EXPECT_EQ(text.size(), sizeof fabric);
  std::memcpy(&fabric, text.data(), std::min(text.size(), sizeof fabric));
  return fabric;
}

aclrtMemFabricHandle share(aclrtDrvMemHandle handle, uint64_t flags = kEverybody) {
  aclrtMemFabricHandle fabric{};
  EXPECT_DONE(aclrtMemExportToShareableHandleV2(handle, flags, kFabric, &fabric));
  return fabric;
}
aclError import(aclrtMemFabricHandle fabric, aclrtDrvMemHandle& handle) {
  return aclrtMemImportFromShareableHandleV2(&fabric, kFabric, 0, &handle);
}
void* map(aclrtDrvMemHandle handle, size_t size_bytes) {
  void* va = nullptr;
  EXPECT_DONE(aclrtReserveMemAddress(&va, size_bytes, 0, nullptr, 1));
  EXPECT_DONE(aclrtMapMem(va, size_bytes, 0, handle, 0));
  return va;
}

// An importer that writes one byte at the end, says so, waits, and lets go.
void import_and_write(Channel& channel) {
  EXPECT_DONE(aclrtSetDevice(0));
  aclrtDrvMemHandle handle = nullptr;
  EXPECT_DONE(import(receive(channel), handle));
  void* va = map(handle, 4_MiB);
  EXPECT_DONE(aclrtMemset(static_cast<char*>(va) + 4_MiB - 1, 1, 9, 1));
  channel.send(0);
  channel.receive();
  EXPECT_DONE(aclrtUnmapMem(va));
  EXPECT_DONE(aclrtFreePhysical(handle));
}

TEST(FabricProcess, WhatTheImporterWritesIsReadAtHome) {
  on_a3([] {
    Peer importer(import_and_write);
    EXPECT_DONE(aclrtSetDevice(0));
    aclrtDrvMemHandle handle = allocate(4_MiB);
    void* va = map(handle, 4_MiB);
    send(importer.channel(), share(handle));
    importer.channel().receive();
    char byte = 0;
    EXPECT_DONE(aclrtMemcpy(&byte, 1, static_cast<char*>(va) + 4_MiB - 1, 1, ACL_MEMCPY_DEVICE_TO_HOST));
    EXPECT_EQ(byte, 9);
    importer.channel().send(0);
    EXPECT_TRUE(importer.join());
  });
}

TEST(FabricProcess, HostMemoryIsReachedByADeviceOfAnotherProcess) {
  on_a3([] {
    Peer importer(import_and_write);
    EXPECT_DONE(aclrtSetDevice(0));
    aclrtPhysicalMemProp prop{};
    prop.memAttr = ACL_MEM_P2P_HUGE;
    prop.location.type = ACL_MEM_LOCATION_TYPE_HOST;
    aclrtDrvMemHandle handle = nullptr;
    EXPECT_DONE(aclrtMallocPhysical(&handle, 4_MiB, &prop, 0));
    void* va = map(handle, 4_MiB);
    send(importer.channel(), share(handle));
    importer.channel().receive();
    EXPECT_EQ(static_cast<const volatile char*>(va)[4_MiB - 1], 9);  // the host owns it, and may look
    importer.channel().send(0);
    EXPECT_TRUE(importer.join());
  });
}

// Every importer counts by itself: freed by the exporter, kept by two, one killed, one lets go.
TEST(FabricProcess, MemoryLivesUntilTheLastImporterLetsGo) {
  on_a3([] {
    Peer killed(import_and_write);
    Peer polite(import_and_write);
    EXPECT_DONE(aclrtSetDevice(0));
    aclrtDrvMemHandle handle = allocate(4_MiB);
    const auto fabric = share(handle);
    for (Peer* peer : {&killed, &polite}) {
      send(peer->channel(), fabric);
      peer->channel().receive();
    }
    EXPECT_DONE(aclrtFreePhysical(handle));
    EXPECT_EQ(used_bytes(), 4_MiB);
    killed.kill_now();
    EXPECT_EQ(used_bytes(), 4_MiB);
    polite.channel().send(0);
    EXPECT_TRUE(polite.join());
    EXPECT_EQ(used_bytes(), 0u);
    EXPECT_EQ(import(fabric, handle), ACL_ERROR_RT_INVALID_HANDLE);
  });
}

TEST(FabricProcess, OnlyTheWhitelistedMayImport) {
  on_a3([] {
    Peer importer([](Channel& channel) {
      EXPECT_DONE(aclrtSetDevice(0));
      const auto fabric = receive(channel);
      aclrtDrvMemHandle handle = nullptr;
      EXPECT_EQ(import(fabric, handle), 507899);
      int32_t pid = 0;
      EXPECT_DONE(aclrtDeviceGetBareTgid(&pid));
      channel.send(static_cast<uint64_t>(pid));
      channel.receive();
      EXPECT_DONE(import(fabric, handle));
      EXPECT_DONE(aclrtFreePhysical(handle));
    });
    EXPECT_DONE(aclrtSetDevice(0));
    aclrtMemFabricHandle fabric = share(allocate(2_MiB), 0);
    send(importer.channel(), fabric);
    auto pid = static_cast<int32_t>(importer.channel().receive());
    EXPECT_DONE(aclrtMemSetPidToShareableHandleV2(&fabric, kFabric, &pid, 1));
    importer.channel().send(0);
    EXPECT_TRUE(importer.join());
  });
}

// Threads of one importer: one memory, as many references as imports.
TEST(FabricProcess, ThreadsImportTheSameHandle) {
  on_a3([] {
    Peer exporter([](Channel& channel) {
      EXPECT_DONE(aclrtSetDevice(0));
      aclrtDrvMemHandle handle = allocate(2_MiB);
      send(channel, share(handle));
      channel.receive();
    });
    EXPECT_DONE(aclrtSetDevice(0));
    const auto fabric = receive(exporter.channel());
    std::vector<aclrtDrvMemHandle> handles(8);
    std::vector<std::thread> threads;
    for (aclrtDrvMemHandle& handle : handles)
      threads.emplace_back([&] {
        EXPECT_DONE(aclrtSetDevice(0));
        EXPECT_DONE(import(fabric, handle));
      });
    for (std::thread& thread : threads) thread.join();
    for (const aclrtDrvMemHandle handle : handles) {
      EXPECT_EQ(handle, handles[0]);
      EXPECT_DONE(aclrtFreePhysical(handle));
    }
    EXPECT_EQ(aclrtFreePhysical(handles[0]), ACL_ERROR_RT_INVALID_HANDLE);
    exporter.channel().send(0);
    EXPECT_TRUE(exporter.join());
  });
}

// A machine is one server: who says otherwise does not join it, and who says nothing takes it over.
TEST(FabricProcess, ProcessesOfAMachineAgreeOnItsServer) {
  on_a3([] {
    setenv("PLAT_SERVER", "5", 1);
    Peer holder([](Channel& channel) {
      EXPECT_DONE(aclrtSetDevice(0));
      channel.send(0);
      channel.receive();
    });
    holder.channel().receive();
    const auto another = [](const char* server) {
      return Peer([server](Channel& channel) {
        server != nullptr ? setenv("PLAT_SERVER", server, 1) : unsetenv("PLAT_SERVER");
        channel.send(static_cast<uint64_t>(aclrtSetDevice(0)));
        channel.send_text(aclGetRecentErrMsg());
      });
    };
    {
      Peer wrong = another("6");
      EXPECT_NE(wrong.channel().receive(), 0u);
      EXPECT_NE(wrong.channel().receive_text().find("server 5"), std::string::npos);
    }
    {
      Peer silent = another(nullptr);
      EXPECT_EQ(silent.channel().receive(), 0u);
    }
    holder.channel().send(0);
    EXPECT_TRUE(holder.join());
  });
}

}  // namespace
}  // namespace plat::test
