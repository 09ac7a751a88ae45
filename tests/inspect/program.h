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

inline constexpr size_t kMiB = size_t{1} << 20;

// A call that must work, or the program is not the one that the test is about.
inline void must(int code, const char* what) {
  if (code == 0) return;
  std::fprintf(stderr, "planted wrongly: %s: %d %s\n", what, code, aclGetRecentErrMsg());
  std::exit(99);
}
#define MUST(call) ::programs::must((call), #call)

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

// A block, all of it written.
inline char* block(size_t size, bool written = true) {
  void* memory = nullptr;
  MUST(aclrtMalloc(&memory, size, ACL_MEM_MALLOC_HUGE_FIRST));
  if (written) MUST(aclrtMemset(memory, size, 1, size));
  return static_cast<char*>(memory);
}

// Reads and writes that the device may refuse: the attempt is the point.
inline int read(const void* from, size_t size) {
  std::vector<char> buffer(size);  // each thread its own
  return aclrtMemcpy(buffer.data(), size, from, size, ACL_MEMCPY_DEVICE_TO_HOST);
}
inline int write(void* to, size_t size) {
  static const char buffer[8 * kMiB] = {};
  return aclrtMemcpy(to, size, buffer, size, ACL_MEMCPY_HOST_TO_DEVICE);
}

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
    aclrtPhysicalMemProp prop{};
    prop.memAttr = ACL_HBM_MEM_HUGE;
    prop.location = {0, ACL_MEM_LOCATION_TYPE_DEVICE};
    MUST(aclrtMallocPhysical(&handles[i], kPage, &prop, 0));
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

using mstx_words::heap;
// Regions that the program has told of, each with its heap.
struct Regions {
  std::mutex mutex;
  std::map<mstxMemRegionHandle_t, mstxMemHeapHandle_t> heaps;
};
inline Regions& regions() {
  static Regions all;
  return all;
}
inline mstxMemRegionHandle_t region(mstxMemHeapHandle_t heap, const void* start, size_t size,
                                    mstxDomainHandle_t domain = nullptr) {
  const auto handle = mstx_words::region(heap, start, size, domain);
  const std::lock_guard lock(regions().mutex);
  if (handle != nullptr && heap != nullptr) regions().heaps[handle] = heap;
  return handle;
}
// With the regions in it that still live.
inline void end_heap(mstxMemHeapHandle_t heap, mstxDomainHandle_t domain = nullptr) {
  const std::lock_guard lock(regions().mutex);
  for (const auto& [handle, home] : regions().heaps)
    if (home == heap) mstx_words::unregister(mstx_words::by_handle(handle), domain);
  mstxMemHeapUnregister(domain, heap);
}
inline void unregister(mstxMemRegionHandle_t handle, mstxDomainHandle_t domain = nullptr) {
  {
    const std::lock_guard lock(regions().mutex);
    regions().heaps.erase(handle);
  }
  mstx_words::unregister(mstx_words::by_handle(handle), domain);
}
inline void unregister_at(const void* pointer, mstxDomainHandle_t domain = nullptr) {
  mstx_words::unregister(mstx_words::by_pointer(pointer), domain);
}
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
