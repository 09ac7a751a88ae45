// SPDX-License-Identifier: Apache-2.0
// What tests of two servers share: memory with known contents, exported there and imported here.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "base/units.h"
#include "fabric/cluster.h"
#include "share/fabric_handle.h"
#include "support/machine.h"
#include "support/peer.h"

namespace plat::test {

inline void send_handle(const Channel& channel, const aclrtMemFabricHandle& handle) {
  for (size_t at = 0; at < sizeof handle; at += sizeof(uint64_t)) {
    uint64_t word = 0;
    memcpy(&word, handle.data + at, sizeof word);
    channel.send(word);
  }
}
inline aclrtMemFabricHandle receive_handle(const Channel& channel) {
  aclrtMemFabricHandle handle{};
  for (size_t at = 0; at < sizeof handle; at += sizeof(uint64_t)) {
    const uint64_t word = channel.receive();
    memcpy(handle.data + at, &word, sizeof word);
  }
  return handle;
}

inline constexpr auto kFabric = ACL_MEM_SHARE_HANDLE_TYPE_FABRIC;
inline constexpr uint64_t kEverybody = ACL_RT_VMM_EXPORT_FLAG_DISABLE_PID_VALIDATION;
inline constexpr size_t kBytes = 12_MiB;  // more than a connection has buffers

#define OK(call) ASSERT_EQ((call), ACL_SUCCESS) << aclGetRecentErrMsg()
// The condition may do something, so it is asked again only while it is false.
#define SOON(condition)                                                            \
  do {                                                                             \
    const uint64_t end_ = os::monotonic_nanoseconds() + uint64_t{60} * 1000000000; \
    bool holds_ = (condition);                                                     \
    while (!holds_ && os::monotonic_nanoseconds() < end_) {                        \
      os::sleep_microseconds(500);                                                 \
      holds_ = (condition);                                                        \
    }                                                                              \
    EXPECT_TRUE(holds_) << #condition;                                             \
  } while (false)

inline std::string recent() { return aclGetRecentErrMsg(); }
inline bool cites(const char* rule) { return recent().rfind(std::string(rule) + " ", 0) == 0; }

inline std::vector<uint8_t> noise(size_t size, uint32_t seed) {
  std::vector<uint8_t> bytes(size);
  std::minstd_rand random(seed);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
  return bytes;
}

struct Mapped {
  aclrtDrvMemHandle handle = nullptr;
  void* va = nullptr;
  uint8_t* at(size_t offset) const { return static_cast<uint8_t*>(va) + offset; }
  void drop() const {
    EXPECT_EQ(aclrtUnmapMem(va), ACL_SUCCESS) << aclGetRecentErrMsg();
    EXPECT_EQ(aclrtReleaseMemAddress(va), ACL_SUCCESS) << aclGetRecentErrMsg();
    EXPECT_EQ(aclrtFreePhysical(handle), ACL_SUCCESS) << aclGetRecentErrMsg();
  }
};

inline Mapped map_handle(aclrtDrvMemHandle handle, size_t size) {
  Mapped mapped{handle, nullptr};
  EXPECT_EQ(aclrtReserveMemAddress(&mapped.va, size, 0, nullptr, 1), ACL_SUCCESS) << aclGetRecentErrMsg();
  EXPECT_EQ(aclrtMapMem(mapped.va, size, 0, handle, 0), ACL_SUCCESS) << aclGetRecentErrMsg();
  return mapped;
}

inline Mapped import_and_map(aclrtMemFabricHandle fabric, size_t size = kBytes) {
  aclrtDrvMemHandle handle = nullptr;
  EXPECT_EQ(aclrtMemImportFromShareableHandleV2(&fabric, kFabric, 0, &handle), ACL_SUCCESS)
      << aclGetRecentErrMsg();
  return handle == nullptr ? Mapped{} : map_handle(handle, size);
}

// Exports memory with contents, then says "yes" (1) when it is asked whether the contents are noise of a
// seed; 0 ends it.
inline void exporter(const Cluster& cluster, uint32_t server, Channel& channel, size_t size = kBytes) {
  cluster.join(server);
  OK(aclrtSetDevice(0));
  const Mapped memory = map_handle(allocate(size), size);
  const auto first = noise(size, 1);
  OK(aclrtMemcpy(memory.va, size, first.data(), size, ACL_MEMCPY_HOST_TO_DEVICE));
  aclrtMemFabricHandle fabric{};
  OK(aclrtMemExportToShareableHandleV2(memory.handle, kEverybody, kFabric, &fabric));
  send_handle(channel, fabric);
  while (const uint64_t seed = channel.receive()) {
    std::vector<uint8_t> now(size);
    OK(aclrtMemcpy(now.data(), size, memory.va, size, ACL_MEMCPY_DEVICE_TO_HOST));
    channel.send(now == noise(size, static_cast<uint32_t>(seed)));
  }
  memory.drop();
  channel.send(used_bytes());
}

inline bool agrees(Peer& peer, uint64_t seed) {
  peer.channel().send(seed);
  return peer.channel().receive() == 1;
}

// A process of server 0 that says how much of its device is in use.
class Witness {
 public:
  explicit Witness(const Cluster& cluster)
      : peer_([&](Channel& channel) {
          cluster.join(0);
          OK(aclrtSetDevice(0));
          while (channel.receive() != 0) channel.send(used_bytes());
        }) {}
  ~Witness() { peer_.channel().send(0); }
  uint64_t used() {
    peer_.channel().send(1);
    return peer_.channel().receive();
  }

 private:
  Peer peer_;
};

inline aclError read_some(const Mapped& far, size_t size = 4096) {
  std::vector<uint8_t> seen(size);
  return aclrtMemcpy(seen.data(), size, far.va, size, ACL_MEMCPY_DEVICE_TO_HOST);
}

// An importer as a process of its own, which says when it has mapped, and then copies until it is killed.
inline void importer(const Cluster& cluster, Channel& channel) {
  cluster.join(1);
  OK(aclrtSetDevice(0));
  const auto fabric = receive_handle(channel);
  const Mapped far = import_and_map(fabric);
  channel.send(far.va != nullptr);
  const std::vector<uint8_t> bytes(kBytes, 0x77);
  for (;;) (void)aclrtMemcpy(far.va, kBytes, bytes.data(), kBytes, ACL_MEMCPY_HOST_TO_DEVICE);
}

// Runs `body` as a process of server 1 while another of server 0 exports.
inline void between(const std::function<void(Cluster&, Peer&, const aclrtMemFabricHandle&)>& body) {
  Cluster cluster;
  Peer peer([&](Channel& channel) { exporter(cluster, 0, channel); });
  cluster.join(1);
  OK(aclrtSetDevice(0));
  const auto fabric = receive_handle(peer.channel());
  body(cluster, peer, fabric);
}

}  // namespace plat::test
