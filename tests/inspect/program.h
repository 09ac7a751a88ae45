// SPDX-License-Identifier: Apache-2.0
// What the planted programs share: a device, memory, and mstx in few words.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "acl/acl.h"
#include "acl/acl_rt_memory_soma.h"
#include "support/mstx_words.h"

namespace programs {

// 1 MiB in bytes.
inline constexpr size_t kMiB = size_t{1} << 20;

// A call that must work, or the program is not the one that the test is about.
inline void must(int code, const char* what) {
  if (code == 0) return;
  std::fprintf(stderr, "planted wrongly: %s: %d %s\n", what, code, aclGetRecentErrMsg());
  std::exit(99);
}
#define MUST(call) ::programs::must((call), #call)

// The call that is the mistake, or that what is missing belongs to: plat rules ID marks its line, and names
// it as what raises the finding.
#define PLANTED(call) (call)

// The process and device 0 are open until the end of the block, as by aclInit and aclrtSetDevice.
struct Device {
  Device() {
    MUST(aclInit(nullptr));
    MUST(aclrtSetDevice(0));
  }
  ~Device() {
    aclrtResetDevice(0);
    aclFinalize();
  }
};

// A block of device memory from aclrtMalloc, all of it written unless the call says otherwise.
inline char* block(size_t size, bool written = true) {
  void* memory = nullptr;
  MUST(aclrtMalloc(&memory, size, ACL_MEM_MALLOC_HUGE_FIRST));
  if (written) MUST(aclrtMemset(memory, size, 1, size));
  return static_cast<char*>(memory);
}

// 2 MiB of physical memory of device 0, by aclrtMallocPhysical.
inline aclrtDrvMemHandle physical() {
  aclrtDrvMemHandle handle = nullptr;
  aclrtPhysicalMemProp prop{};
  prop.memAttr = ACL_HBM_MEM_HUGE;
  prop.location = {0, ACL_MEM_LOCATION_TYPE_DEVICE};
  MUST(aclrtMallocPhysical(&handle, 2 * kMiB, &prop, 0));
  return handle;
}

// Copies from the device to the host. The device may refuse: the attempt is the point.
inline int read(const void* from, size_t size) {
  std::vector<char> buffer(size);  // each thread its own
  return aclrtMemcpy(buffer.data(), size, from, size, ACL_MEMCPY_DEVICE_TO_HOST);
}
// Copies from the host to the device. The device may refuse: the attempt is the point.
inline int write(void* to, size_t size) {
  static const char buffer[8 * kMiB] = {};
  return aclrtMemcpy(to, size, buffer, size, ACL_MEMCPY_HOST_TO_DEVICE);
}

// A reservation with so many pages of 2 MiB (kPage) mapped from its start, and one page of addresses behind
// them where nothing is; at() is an address in it, map() and unmap() are for one page, release() gives all
// back.
struct Mapped {
  void* address = nullptr;
  size_t pages = 0;
  aclrtDrvMemHandle handles[4] = {};
  static constexpr size_t kPage = 2 * kMiB;

  explicit Mapped(size_t count) : pages(count) {
    MUST(aclrtReserveMemAddress(&address, (count + 1) * kPage, 0, nullptr, 0));
    for (size_t i = 0; i < count; ++i) map(i);
  }
  void map(size_t i) {
    handles[i] = physical();
    MUST(aclrtMapMem(at(i * kPage), kPage, 0, handles[i], 0));
  }
  void unmap(size_t i) {
    MUST(aclrtUnmapMem(at(i * kPage)));
    MUST(aclrtFreePhysical(handles[i]));
    handles[i] = nullptr;
  }
  char* at(size_t offset) const { return static_cast<char*>(address) + offset; }
  void release() {
    for (size_t i = 0; i < pages; ++i)
      if (handles[i] != nullptr) unmap(i);
    MUST(aclrtReleaseMemAddress(address));
  }
};

// Tells of a heap: aclrtMalloc or a mapping gave the memory, and a pool will hand out parts of it.
inline mstxMemHeapHandle_t heap(const void* start, size_t size, mstxDomainHandle_t domain = nullptr) {
  return mstx_words::heap(start, size, domain);
}
// Regions that the program has told of, each with its heap.
struct Regions {
  std::mutex mutex;
  std::map<mstxMemRegionHandle_t, mstxMemHeapHandle_t> heaps;
};
inline Regions& regions() {
  static Regions all;
  return all;
}
// Tells that the pool has handed out this part of a heap, with mstxMemRegionsRegister.
inline mstxMemRegionHandle_t region(mstxMemHeapHandle_t heap, const void* start, size_t size,
                                    mstxDomainHandle_t domain = nullptr) {
  const auto handle = mstx_words::region(heap, start, size, domain);
  const std::lock_guard lock(regions().mutex);
  if (handle != nullptr && heap != nullptr) regions().heaps[handle] = heap;
  return handle;
}
// Tells that a heap ends, with the regions in it that still live.
inline void end_heap(mstxMemHeapHandle_t heap, mstxDomainHandle_t domain = nullptr) {
  const std::lock_guard lock(regions().mutex);
  for (const auto& [handle, home] : regions().heaps)
    if (home == heap) mstx_words::unregister(mstx_words::by_handle(handle), domain);
  mstxMemHeapUnregister(domain, heap);
}
// Tells that a region was given back, with mstxMemRegionsUnregister.
inline void unregister(mstxMemRegionHandle_t handle, mstxDomainHandle_t domain = nullptr) {
  {
    const std::lock_guard lock(regions().mutex);
    regions().heaps.erase(handle);
  }
  mstx_words::unregister(mstx_words::by_handle(handle), domain);
}
// The same, for a region that is named by its address.
inline void unregister_at(const void* pointer, mstxDomainHandle_t domain = nullptr) {
  mstx_words::unregister(mstx_words::by_pointer(pointer), domain);
}
// Tells what may be done with a region, with mstxMemPermissionsAssign.
inline void allow(mstxMemRegionHandle_t handle, uint32_t flags, mstxDomainHandle_t domain = nullptr) {
  mstx_words::allow(mstx_words::by_handle(handle), flags, domain);
}

using Programs = std::map<std::string, void (*)()>;
void add_memory_programs(Programs& programs);
void add_pool_programs(Programs& programs);
void add_stream_programs(Programs& programs);
void add_race_programs(Programs& programs);
void add_leak_programs(Programs& programs);
void add_share_programs(Programs& programs);
void add_dialect_programs(Programs& programs);
void add_heard_programs(Programs& programs);
void add_process_programs(Programs& programs);
void add_managed_programs(Programs& programs);
void add_mbuf_programs(Programs& programs);

}  // namespace programs
