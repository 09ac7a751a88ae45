// SPDX-License-Identifier: Apache-2.0
// The rules of copies, fills, values and cache operations.
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <vector>

#include "rules/memory_fixture.h"

namespace plat::rule_test {
namespace {

// Memory, 8192 bytes each on the device, page-locked and ordinary (host), and a stream; to() copies there
// from host.
struct Buffers : Memory {
  void* device = nullptr;
  void* pinned = nullptr;
  std::vector<char> host = std::vector<char>(8192, 1);
  aclrtStream stream = nullptr;
  Buffers() {
    EXPECT_READY(aclrtMalloc(&device, 8192, ACL_MEM_MALLOC_HUGE_FIRST));
    EXPECT_READY(aclrtMallocHost(&pinned, 8192));
    EXPECT_READY(aclrtCreateStream(&stream));
  }
  aclError to(void* target, size_t size) {
    return aclrtMemcpy(target, size, host.data(), size, ACL_MEMCPY_HOST_TO_DEVICE);
  }
};

RULE_BROKEN(CopyHole) {
  Buffers b;
  EXPECT_BREAKS(b.to(b.va, 16));
  b.map();
  EXPECT_BREAKS(b.to(offset(b.va, 2_MiB - 8), 16));
  // In stream order it surfaces where the stream is synchronised.
  EXPECT_OK(aclrtMemcpyAsync(offset(b.va, 4_MiB), 16, b.pinned, 16, ACL_MEMCPY_HOST_TO_DEVICE, b.stream));
  EXPECT_BREAKS(aclrtSynchronizeStream(b.stream));
}
TEST(CopyHole, IsNotTakenForMemoryThatWasFreedThereBefore) {
  rule_under_test() = RuleId::CopyHole;
  run({}, [] {
    Buffers b;
    void* block = nullptr;
    void* va = nullptr;
    EXPECT_OK(aclrtMalloc(&block, 8_MiB, ACL_MEM_MALLOC_HUGE_ONLY));
    EXPECT_OK(aclrtFree(block));
    // The same address, if addresses may be chosen; the next reservation gets it in any case.
    const bool in_window = reinterpret_cast<uint64_t>(block) < 24_TiB;
    EXPECT_OK(aclrtReserveMemAddress(&va, 2_MiB, 0, in_window ? block : nullptr, 0));
    EXPECT_EQ(va, block);
    EXPECT_BREAKS(aclrtMemcpy(va, 16, b.pinned, 16, ACL_MEMCPY_HOST_TO_DEVICE));
  });
}
RULE_KEPT(CopyHole) {
  Buffers b;
  b.map();
  EXPECT_OK(b.to(offset(b.va, 2_MiB - 16), 16));
}

RULE_BROKEN(CopyPastEnd) {
  Buffers b;
  std::vector<char> large(16384);
  EXPECT_BREAKS(aclrtMemcpy(b.device, large.size(), large.data(), large.size(), ACL_MEMCPY_HOST_TO_DEVICE));
}
RULE_KEPT(CopyPastEnd) {
  Buffers b;
  EXPECT_OK(b.to(b.device, 8192));
  // Room that is claimed and not used is nobody's business.
  EXPECT_OK(aclrtMemcpy(b.device, SIZE_MAX, b.host.data(), 16, ACL_MEMCPY_HOST_TO_DEVICE));
}

RULE_BROKEN(CopyFreed) {
  Buffers b;
  EXPECT_OK(aclrtFree(b.device));
  EXPECT_BREAKS(b.to(b.device, 16));
  void* large = nullptr;
  EXPECT_OK(aclrtMalloc(&large, 4_MiB, ACL_MEM_MALLOC_HUGE_FIRST));
  EXPECT_OK(aclrtFree(large));
  EXPECT_BREAKS(b.to(large, 16));
}
RULE_KEPT(CopyFreed) {
  Buffers b;
  EXPECT_OK(b.to(b.device, 16));
  EXPECT_OK(aclrtFree(b.device));
}

RULE_BROKEN(CopyAccess) {
  Buffers b;
  EXPECT_OK(aclrtMemMapNoAccess(b.va, 2_MiB, 0, b.handle, 0));
  EXPECT_BREAKS(b.to(b.va, 16));
}
RULE_KEPT(CopyAccess) {
  Buffers b;
  EXPECT_OK(aclrtMemMapNoAccess(b.va, 2_MiB, 0, b.handle, 0));
  aclrtMemAccessDesc grant{};
  grant.flags = ACL_RT_MEM_ACCESS_FLAGS_READWRITE;
  grant.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
  EXPECT_OK(aclrtMemSetAccess(b.va, 2_MiB, &grant, 1));
  EXPECT_OK(b.to(b.va, 16));
}

// Host memory that is not there, of every kind: a page that is gone, one that cannot be touched, one that can
// only be read, and the end of a file.
struct Holes : Buffers {
  static constexpr size_t kBytes = 3 * 4096;
  char* gone = map();
  char* closed = map();
  char* read_only = map();
  char* no_file = nullptr;
  Holes() {
    munmap(gone, kBytes);
    mprotect(closed, kBytes, PROT_NONE);
    mprotect(read_only, kBytes, PROT_READ);
    const int file = memfd_create("short", 0);
    EXPECT_EQ(ftruncate(file, 0), 0);
    no_file = static_cast<char*>(mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
    close(file);
  }
  static char* map() {
    return static_cast<char*>(
        mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  }
};

RULE_BROKEN(CopyHostAddress) {
  Holes b;
  EXPECT_BREAKS(b.to(reinterpret_cast<void*>(0x1000), 16));
  for (const bool warm : {false, true}) {
    if (warm) EXPECT_OK(b.to(b.device, 8192));
    for (const size_t size : {1, 64, 4096, 8192}) {
      for (char* hole : {b.gone, b.closed, b.no_file}) {
        EXPECT_BREAKS(aclrtMemcpy(b.device, size, hole, size, ACL_MEMCPY_HOST_TO_DEVICE));
        EXPECT_BREAKS(aclrtMemcpyAsync(b.device, size, hole, size, ACL_MEMCPY_HOST_TO_DEVICE, b.stream));
        EXPECT_BREAKS(aclrtMemcpy(b.host.data(), size, hole, size, ACL_MEMCPY_HOST_TO_HOST));
        EXPECT_BREAKS(
            aclrtMemcpyAsync(b.device, size, hole, size, ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE, b.stream));
      }
      for (char* hole : {b.gone, b.closed, b.no_file, b.read_only}) {
        EXPECT_BREAKS(aclrtMemcpy(hole, size, b.device, size, ACL_MEMCPY_DEVICE_TO_HOST));
        EXPECT_BREAKS(aclrtMemset(hole, size, 1, size));
        EXPECT_OK(aclrtMemsetAsync(hole, size, 1, size, b.stream));
        EXPECT_BREAKS(aclrtSynchronizeStream(b.stream));
      }
    }
    EXPECT_BREAKS(aclrtMemcpy2d(b.device, 64, b.gone, 64, 32, 4, ACL_MEMCPY_HOST_TO_DEVICE));
    EXPECT_BREAKS(aclrtMemcpy2d(b.read_only, 64, b.device, 64, 32, 4, ACL_MEMCPY_DEVICE_TO_HOST));
  }
  // The last byte of a large copy, on each of the ways that large copies take.
  void* large = nullptr;
  constexpr size_t kLarge = 32_MiB;
  EXPECT_OK(aclrtMalloc(&large, kLarge, ACL_MEM_MALLOC_HUGE_ONLY));
  auto* source = static_cast<char*>(
      mmap(nullptr, kLarge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  munmap(source + kLarge - kPage, kPage);
  for (int round = 0; round < 2; ++round)  // cold, and warm
    for (const size_t size : {size_t{1_MiB}, kLarge})
      EXPECT_BREAKS(aclrtMemcpy(large, size, source + kLarge - size, size, ACL_MEMCPY_HOST_TO_DEVICE));
  EXPECT_BREAKS(aclrtMemcpy(source, kLarge, large, kLarge, ACL_MEMCPY_DEVICE_TO_HOST));
}
// Work of a stream fails in a thread of ours.
TEST(CopyHostAddress, FailsTheStreamThatRunsIt) {
  for (const char* mode : {"pool", "eager", "seeded:1"}) {
    rule_under_test() = RuleId::CopyHostAddress;
    run({{"PLAT_STREAMS", mode}}, [] {
      sigset_t all;
      sigfillset(&all);
      pthread_sigmask(SIG_BLOCK, &all, nullptr);  // threads that are started now inherit it
      Buffers b;
      auto* page = static_cast<char*>(std::aligned_alloc(kPage, kPage));
      EXPECT_OK(aclrtHostRegisterV2(page, kPage, ACL_HOST_REG_MAPPED));
      sigset_t faults;
      sigemptyset(&faults);
      sigaddset(&faults, SIGSEGV);
      EXPECT_OK(aclrtMemcpyAsync(b.device, 64, page, 64, ACL_MEMCPY_HOST_TO_DEVICE, b.stream));
      EXPECT_OK(aclrtSynchronizeStream(b.stream));
      pthread_sigmask(SIG_UNBLOCK, &faults, nullptr);  // where work runs in the calling thread
      mprotect(page, kPage, PROT_NONE);
      EXPECT_OK(aclrtMemcpyAsync(b.device, 64, page, 64, ACL_MEMCPY_HOST_TO_DEVICE, b.stream));
      EXPECT_BREAKS(aclrtSynchronizeStream(b.stream));
      mprotect(page, kPage, PROT_READ | PROT_WRITE);
      EXPECT_OK(aclrtMemcpyAsync(b.device, 64, page, 64, ACL_MEMCPY_HOST_TO_DEVICE, b.stream));
      EXPECT_OK(aclrtSynchronizeStream(b.stream));
    });
  }
}
RULE_KEPT(CopyHostAddress) {
  Buffers b;
  EXPECT_OK(b.to(b.pinned, 16));  // the addresses decide, not the kind
}

RULE_BROKEN(CopyTooLong) {
  Buffers b;
  EXPECT_BREAKS(aclrtMemcpy(b.device, 15, b.host.data(), 16, ACL_MEMCPY_HOST_TO_DEVICE));
  EXPECT_BREAKS(aclrtMemcpyAsync(b.device, 0, b.host.data(), 16, ACL_MEMCPY_HOST_TO_DEVICE, b.stream));
}
RULE_KEPT(CopyTooLong) {
  Buffers b;
  EXPECT_OK(aclrtMemcpy(b.device, 16, b.host.data(), 16, ACL_MEMCPY_HOST_TO_DEVICE));
  EXPECT_OK(aclrtMemcpy(nullptr, 0, nullptr, 0, ACL_MEMCPY_HOST_TO_DEVICE));
}

RULE_BROKEN(CopyDirection) {
  Buffers b;
  EXPECT_BREAKS(aclrtMemcpyAsync(b.device, 16, b.host.data(), 16, ACL_MEMCPY_DEVICE_TO_HOST, b.stream));
  EXPECT_BREAKS(aclrtMemcpyAsync(b.pinned, 16, b.device, 16, ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE, b.stream));
}
RULE_KEPT(CopyDirection) {
  Buffers b;
  // Between two known addresses a wrong kind is corrected.
  EXPECT_OK(aclrtMemcpyAsync(b.device, 16, b.pinned, 16, ACL_MEMCPY_DEVICE_TO_HOST, b.stream));
  EXPECT_OK(aclrtMemcpyAsync(b.device, 16, b.host.data(), 16, ACL_MEMCPY_DEFAULT, b.stream));
  int staged = 5;
  EXPECT_OK(aclrtMemcpyAsync(b.device, 4, &staged, 4, ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE, b.stream));
  staged = 6;
  EXPECT_OK(aclrtSynchronizeStream(b.stream));
  int back = 0;
  EXPECT_OK(aclrtMemcpy(&back, 4, b.device, 4, ACL_MEMCPY_DEVICE_TO_HOST));
  EXPECT_EQ(back, 5);
}

RULE_BROKEN(CopyHostToHost) {
  Buffers b;
  EXPECT_BREAKS(aclrtMemcpyAsync(b.pinned, 16, b.host.data(), 16, ACL_MEMCPY_HOST_TO_HOST, b.stream));
  EXPECT_BREAKS(aclrtMemcpyAsync(b.pinned, 16, b.pinned, 16, ACL_MEMCPY_DEFAULT, b.stream));
}
RULE_KEPT(CopyHostToHost) {
  Buffers b;
  EXPECT_OK(aclrtMemcpy(b.pinned, 16, b.host.data(), 16, ACL_MEMCPY_HOST_TO_HOST));
  EXPECT_OK(aclrtMemcpyAsync(b.device, 16, b.pinned, 16, ACL_MEMCPY_HOST_TO_DEVICE, b.stream));
  EXPECT_OK(aclrtSynchronizeStream(b.stream));
}

// Mapped memory of device 1 and a block of device 0.
RULE_BROKEN(CopyVmmPeer, {"PLAT_RULES", "COPY-Peer-VMM-async=error"}) {
  Buffers b;
  EXPECT_OK(aclrtMapMem(b.va, 2_MiB, 0, physical(2_MiB, device_prop(1)), 0));
  EXPECT_BREAKS(aclrtMemcpy(b.va, 16, b.device, 16, ACL_MEMCPY_DEVICE_TO_DEVICE));
}
RULE_KEPT(CopyVmmPeer, {"PLAT_RULES", "COPY-Peer-VMM-async=error"}) {
  Buffers b;
  EXPECT_OK(aclrtMapMem(b.va, 2_MiB, 0, physical(2_MiB, device_prop(1)), 0));
  EXPECT_OK(aclrtMemcpyAsync(b.va, 16, b.device, 16, ACL_MEMCPY_DEVICE_TO_DEVICE, b.stream));
  EXPECT_OK(aclrtSynchronizeStream(b.stream));

  // What is mapped here but lies on the same device needs no stream.
  void* own = reserve(2_MiB);
  EXPECT_OK(aclrtMapMem(own, 2_MiB, 0, physical(2_MiB), 0));
  EXPECT_OK(aclrtMemcpy(own, 16, b.device, 16, ACL_MEMCPY_DEVICE_TO_DEVICE));
}

// A block on device 1, beside those on device 0.
void* block_on_device_1() {
  void* block = nullptr;
  EXPECT_OK(aclrtSetDevice(1));
  EXPECT_OK(aclrtMalloc(&block, 2_MiB, ACL_MEM_MALLOC_HUGE_FIRST));
  EXPECT_OK(aclrtSetDevice(0));
  return block;
}
RULE_BROKEN(CopyPeer, {"PLAT_RULES", "COPY-Peer-access=error"}) {
  Buffers b;
  void* far = block_on_device_1();
  EXPECT_BREAKS(aclrtMemcpy(far, 16, b.device, 16, ACL_MEMCPY_DEVICE_TO_DEVICE));
  EXPECT_OK(aclrtDeviceEnablePeerAccess(1, 0));
  EXPECT_OK(aclrtMemcpy(far, 16, b.device, 16, ACL_MEMCPY_DEVICE_TO_DEVICE));
  EXPECT_OK(aclrtDeviceDisablePeerAccess(1));
  EXPECT_BREAKS(aclrtMemcpy(b.device, 16, far, 16, ACL_MEMCPY_DEVICE_TO_DEVICE));
}
RULE_KEPT(CopyPeer, {"PLAT_RULES", "COPY-Peer-access=error"}) {
  Buffers b;
  void* far = block_on_device_1();
  EXPECT_OK(aclrtDeviceEnablePeerAccess(1, 0));
  EXPECT_OK(aclrtMemcpy(far, 16, b.device, 16, ACL_MEMCPY_DEVICE_TO_DEVICE));

  EXPECT_OK(aclrtMemcpyAsync(far, 16, b.device, 16, ACL_MEMCPY_DEVICE_TO_DEVICE, b.stream));
  EXPECT_OK(aclrtSynchronizeStream(b.stream));
  EXPECT_OK(aclrtDeviceDisablePeerAccess(1));
  EXPECT_OK(aclrtMapMem(b.va, 2_MiB, 0, physical(2_MiB, device_prop(1)), 0));
  aclrtMemAccessDesc access{};
  access.flags = ACL_RT_MEM_ACCESS_FLAGS_READWRITE;
  access.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
  EXPECT_OK(aclrtMemSetAccess(b.va, 2_MiB, &access, 1));
  EXPECT_OK(aclrtMemcpyAsync(b.va, 16, b.device, 16, ACL_MEMCPY_DEVICE_TO_DEVICE, b.stream));
  EXPECT_OK(aclrtSynchronizeStream(b.stream));
}

RULE_BROKEN(CopyAligned, {"PLAT_RULES", "COPY-Async-aligned=error"}) {
  Buffers b;
  EXPECT_BREAKS(aclrtMemcpyAsync(offset(b.device, 32), 16, b.pinned, 16, ACL_MEMCPY_DEFAULT, b.stream));
}
RULE_KEPT(CopyAligned, {"PLAT_RULES", "COPY-Async-aligned=error"}) {
  Buffers b;
  EXPECT_OK(aclrtMemcpyAsync(offset(b.device, 64), 16, b.pinned, 16, ACL_MEMCPY_DEFAULT, b.stream));
}

RULE_BROKEN(CopyPitch) {
  Buffers b;
  EXPECT_BREAKS(aclrtMemcpy2d(b.device, 64, b.host.data(), 32, 33, 2, ACL_MEMCPY_HOST_TO_DEVICE));
}
RULE_KEPT(CopyPitch) {
  Buffers b;
  EXPECT_OK(aclrtMemcpy2d(b.device, 64, b.host.data(), 32, 32, 2, ACL_MEMCPY_HOST_TO_DEVICE));
  char back[96] = {};
  EXPECT_OK(aclrtMemcpy(back, 96, b.device, 96, ACL_MEMCPY_DEVICE_TO_HOST));
  EXPECT_EQ(back[31], 1);
  EXPECT_EQ(back[32], 0);
  EXPECT_EQ(back[64], 1);
}

RULE_BROKEN(CopyArea) {
  Buffers b;
  EXPECT_BREAKS(aclrtMemcpy2d(b.device, 6000000, b.host.data(), 6000000, 5000001, 1, ACL_MEMCPY_DEFAULT));
}
RULE_KEPT(CopyArea) {
  Buffers b;
  EXPECT_OK(aclrtMemcpy2d(b.device, 64, b.host.data(), 64, 64, 128, ACL_MEMCPY_DEFAULT));
}

RULE_BROKEN(Copy2dInDevice) {
  Buffers b;
  EXPECT_BREAKS(aclrtMemcpy2d(b.device, 64, offset(b.device, 4096), 64, 64, 2, ACL_MEMCPY_DEFAULT));
}
RULE_KEPT(Copy2dInDevice) {
  Buffers b;
  EXPECT_OK(
      aclrtMemcpy2dAsync(b.device, 64, offset(b.device, 4096), 64, 64, 2, ACL_MEMCPY_DEFAULT, b.stream));
  EXPECT_OK(aclrtSynchronizeStream(b.stream));
  EXPECT_OK(aclrtMemcpy2d(b.device, 64, b.pinned, 64, 64, 2, ACL_MEMCPY_DEFAULT));  // not inside a device
}

// A batch of equal entries to the device, with one attribute.
// Buffers, and a batch of copies of 16 bytes each from pinned to device; run() is aclrtMemcpyBatch.
struct Batch : Buffers {
  std::vector<void*> dsts, srcs;
  std::vector<size_t> rooms, sizes;
  aclrtMemcpyBatchAttr attribute{};
  size_t index = 0;
  size_t failed = 0;
  explicit Batch(size_t count) : dsts(count), srcs(count), rooms(count, 16), sizes(count, 16) {
    for (size_t i = 0; i < count; ++i) {
      dsts[i] = offset(device, i % 100 * 16);
      srcs[i] = offset(pinned, i % 100 * 16);
    }
    attribute.dstLoc.type = ACL_MEM_LOCATION_TYPE_DEVICE;
    attribute.srcLoc.type = ACL_MEM_LOCATION_TYPE_HOST;
  }
  aclError run() {
    return aclrtMemcpyBatch(dsts.data(), rooms.data(), srcs.data(), sizes.data(), dsts.size(), &attribute,
                            &index, 1, &failed);
  }
};

RULE_BROKEN(BatchRoom) {
  Batch b(4);
  b.sizes[2] = 17;
  EXPECT_BREAKS(b.run());
  EXPECT_EQ(b.failed, 2u);
}
RULE_KEPT(BatchRoom) {
  Batch b(4);
  EXPECT_OK(b.run());
  EXPECT_OK(aclrtMemcpyBatchAsync(b.dsts.data(), b.rooms.data(), b.srcs.data(), b.sizes.data(), 4,
                                  &b.attribute, &b.index, 1, &b.failed, b.stream));
  EXPECT_OK(aclrtSynchronizeStream(b.stream));
}

RULE_BROKEN(BatchAttributes) {
  Batch b(4);
  b.index = 1;
  EXPECT_BREAKS(b.run());
  EXPECT_EQ(b.failed, SIZE_MAX);
}
RULE_KEPT(BatchAttributes) {
  Batch b(4);
  EXPECT_OK(b.run());
}

RULE_BROKEN(BatchLimit) {
  Batch b(4097);
  EXPECT_BREAKS(b.run());
}
RULE_KEPT(BatchLimit) {
  Batch b(4096);
  EXPECT_OK(b.run());
}

RULE_BROKEN(BatchDirection) {
  Batch b(4);
  std::swap(b.dsts[3], b.srcs[3]);
  EXPECT_BREAKS(b.run());
  EXPECT_EQ(b.failed, 3u);
  b.attribute.srcLoc.type = ACL_MEM_LOCATION_TYPE_DEVICE;
  EXPECT_BREAKS(b.run());
}
RULE_KEPT(BatchDirection) {
  Batch b(4);
  std::swap(b.dsts, b.srcs);
  std::swap(b.attribute.dstLoc, b.attribute.srcLoc);
  EXPECT_OK(b.run());
}

RULE_BROKEN(CopyDescriptor) {
  Buffers b;
  EXPECT_OK(aclrtMemcpyAsyncWithDesc(b.device, ACL_MEMCPY_INNER_DEVICE_TO_DEVICE, b.stream));
  EXPECT_BREAKS(aclrtSynchronizeStream(b.stream));
  EXPECT_OK(aclrtCmoAsyncWithDesc(b.device, ACL_RT_CMO_TYPE_FLUSH, b.stream, nullptr));
  EXPECT_BREAKS(aclrtSynchronizeStream(b.stream));
}
RULE_KEPT(CopyDescriptor) {
  Buffers b;
  EXPECT_OK(b.to(offset(b.device, 4096), 16));
  const auto kind = ACL_MEMCPY_INNER_DEVICE_TO_DEVICE;
  size_t size = 0;
  EXPECT_OK(aclrtGetMemcpyDescSize(kind, &size));
  EXPECT_OK(aclrtSetMemcpyDesc(b.device, kind, offset(b.device, 4096), offset(b.device, 1024), 16, nullptr));
  EXPECT_OK(aclrtMemcpyAsyncWithDesc(b.device, kind, b.stream));
  EXPECT_OK(aclrtSynchronizeStream(b.stream));
  char back = 0;
  EXPECT_OK(aclrtMemcpy(&back, 1, offset(b.device, 1039), 1, ACL_MEMCPY_DEVICE_TO_HOST));
  EXPECT_EQ(back, 1);
  EXPECT_OK(aclrtCmoSetDesc(b.device, offset(b.device, 4096), 16));
  EXPECT_OK(aclrtCmoAsyncWithDesc(b.device, ACL_RT_CMO_TYPE_FLUSH, b.stream, nullptr));
  EXPECT_OK(aclrtSynchronizeStream(b.stream));
}

RULE_BROKEN(FillTooLong) {
  Buffers b;
  EXPECT_BREAKS(aclrtMemset(b.device, 15, 0, 16));
  EXPECT_BREAKS(aclrtMemsetAsync(b.device, 15, 0, 16, b.stream));
}
RULE_KEPT(FillTooLong) {
  Buffers b;
  EXPECT_OK(aclrtMemset(b.device, 16, 0x1FF, 16));
  EXPECT_OK(aclrtMemset(b.pinned, 16, 7, 16));
  EXPECT_OK(aclrtMemsetAsync(b.device, 8192, 3, 16, b.stream));
  EXPECT_OK(aclrtSynchronizeStream(b.stream));
}

RULE_BROKEN(FillWords) {
  Buffers b;
  EXPECT_BREAKS(aclrtMemsetD32(offset(b.device, 2), 64, 1, 4));
  EXPECT_BREAKS(aclrtMemsetD32(b.device, 15, 1, 4));
  EXPECT_BREAKS(aclrtMemsetD32(b.host.data(), 64, 1, 4));
}
RULE_KEPT(FillWords) {
  Buffers b;
  EXPECT_OK(aclrtMemsetD32(b.device, 16, 0x01020304, 4));
  uint32_t back = 0;
  EXPECT_OK(aclrtMemcpy(&back, 4, offset(b.device, 12), 4, ACL_MEMCPY_DEVICE_TO_HOST));
  EXPECT_EQ(back, 0x01020304u);
  EXPECT_OK(aclrtMemsetD32Async(b.pinned, 16, 1, 4, b.stream));
  EXPECT_OK(aclrtSynchronizeStream(b.stream));
}

RULE_BROKEN(ValueArguments) {
  Buffers b;
  EXPECT_BREAKS(aclrtValueWrite(offset(b.device, 4), 1, 0, b.stream));
  EXPECT_BREAKS(aclrtValueWrite(b.device, 1, 1, b.stream));
  EXPECT_BREAKS(aclrtValueWait(b.device, 1, 4, b.stream));
  EXPECT_BREAKS(aclrtValueWait(b.pinned, 1, 0, b.stream));
}
RULE_KEPT(ValueArguments) {
  Buffers b;
  aclrtStream other = nullptr;
  EXPECT_OK(aclrtCreateStream(&other));
  EXPECT_OK(aclrtValueWait(b.device, 7, ACL_STREAM_WAIT_VALUE_EQ, b.stream));
  EXPECT_OK(aclrtValueWrite(offset(b.device, 8), 9, 0, b.stream));
  EXPECT_OK(aclrtValueWrite(b.device, 7, 0, other));
  EXPECT_OK(aclrtSynchronizeStream(b.stream));
  uint64_t back = 0;
  EXPECT_OK(aclrtMemcpy(&back, 8, offset(b.device, 8), 8, ACL_MEMCPY_DEVICE_TO_HOST));
  EXPECT_EQ(back, 9u);
}

RULE_BROKEN(CacheArguments) {
  Buffers b;
  EXPECT_BREAKS(aclrtCmoAsyncWithBarrier(b.device, 64, ACL_RT_CMO_TYPE_INVALID, 0, b.stream));
  EXPECT_BREAKS(aclrtCmoAsyncWithBarrier(b.device, 64, ACL_RT_CMO_TYPE_FLUSH, 1, b.stream));
  aclrtBarrierTaskInfo info{};
  EXPECT_BREAKS(aclrtCmoWaitBarrier(&info, b.stream, 0));
}
RULE_KEPT(CacheArguments) {
  Buffers b;
  EXPECT_OK(aclrtCmoAsync(b.device, 64, ACL_RT_CMO_TYPE_PREFETCH, b.stream));
  EXPECT_OK(aclrtCmoAsyncWithBarrier(b.device, 64, ACL_RT_CMO_TYPE_INVALID, 3, b.stream));
  aclrtBarrierTaskInfo info{};
  info.barrierNum = 1;
  info.cmoInfo[0] = {ACL_RT_CMO_TYPE_INVALID, 3};
  EXPECT_OK(aclrtCmoWaitBarrier(&info, b.stream, 0));
  EXPECT_OK(aclrtSynchronizeStream(b.stream));
}

}  // namespace
}  // namespace plat::rule_test
