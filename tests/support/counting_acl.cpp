// SPDX-License-Identifier: Apache-2.0
#include "support/counting_acl.h"

#include <acl/acl_rt.h>
#include <acl/acl_rt_allocator.h>
#include <acl/ops/acl_dvpp.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <unordered_map>
#include <vector>

namespace plat::test {

namespace {

constexpr uint64_t kPage = 2u << 20;

struct Physical {
  uint64_t bytes;
  uint32_t owner;
  off_t offset;
  uint64_t mapped_at = 0;
};
struct Reservation {
  uint64_t bytes;
  void* whole;  // what mmap gave, to align by hand
  uint64_t whole_bytes;
  int32_t device = -1;
};
struct Event {
  uint64_t recorded = 0;  // ticket; complete when the device has reached it
};

struct State {
  std::mutex mutex;
  CountingAcl device;
  std::map<uint64_t, Reservation> reservations;
  std::unordered_map<void*, Physical> physical;
  std::unordered_map<uint64_t, void*> mappings;  // address -> handle
  std::unordered_map<void*, uint64_t> blocks;
  std::set<Event*> events;
  uint64_t ticket = 0;
  uint64_t finished = 0;
  uint64_t next_handle = 1;
  int memfd = -1;
  std::vector<off_t> free_offsets;
  off_t next_offset = 0;
  std::unordered_map<void*, void*> allocators;
};

State& state() {
  static State* instance = new State;
  return *instance;
}

void broken(const char* rule) {
  if (state().device.broken_rules++ == 0) state().device.first_broken = rule;
}

// Counts the call and says whether it is the one that must fail.
bool refuse(const char* call) {
  CountingAcl& device = state().device;
  if (device.watch) device.watch(call);
  ++device.calls;
  return device.fail_call != 0 && --device.fail_call == 0;
}

// A stream that is not there is an error of each call that names it.
bool is_gone(void* stream) {
  CountingAcl& device = state().device;
  const bool gone = device.gone_streams.count(stream) != 0;
  device.stale_calls += gone;
  return gone;
}

uint64_t number(const void* address) { return reinterpret_cast<uint64_t>(address); }

const std::pair<const uint64_t, Reservation>* reservation_of(uint64_t address) {
  auto after = state().reservations.upper_bound(address);
  if (after == state().reservations.begin()) return nullptr;
  --after;
  return address < after->first + after->second.bytes ? &*after : nullptr;
}

// Device memory comes with 32 bytes behind it on most products.
aclError allocate(const char* call, void** out, size_t size, bool counts) {
  std::lock_guard guard(state().mutex);
  if (out == nullptr || size == 0) return broken("allocation of nothing"), ACL_ERROR_INVALID_PARAM;
  const bool padded =
      std::strncmp(state().device.soc, "Ascend950", 9) != 0 || std::strstr(call, "dvpp") != nullptr;
  size = (size + 31) / 32 * 32 + (counts && padded ? 32 : 0);
  if (refuse(call)) return state().device.fail_code;
  CountingAcl& device = state().device;
  if (counts && device.held_bytes + size > device.capacity_bytes) return ACL_ERROR_RT_MEMORY_ALLOCATION;
  void* memory = ::mmap(nullptr, size + kPage, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  state().blocks[memory] = size + kPage;
  if (counts) device.held_bytes += size;
  ++device.mallocs;
  *out = memory;
  return ACL_SUCCESS;
}

aclError deallocate(void* memory, bool counts) {
  std::lock_guard guard(state().mutex);
  auto block = state().blocks.find(memory);
  if (block == state().blocks.end()) return broken("free of an unknown block"), ACL_ERROR_RT_PARAM_INVALID;
  ::munmap(memory, block->second);
  if (counts) state().device.held_bytes -= block->second - kPage;
  ++state().device.frees;
  state().blocks.erase(block);
  return ACL_SUCCESS;
}

}  // namespace

CountingAcl& device() { return state().device; }

void CountingAcl::finish() {
  std::lock_guard guard(state().mutex);
  state().finished = state().ticket;
}

bool CountingAcl::clean() const {
  return state().reservations.empty() && state().physical.empty() && state().mappings.empty() &&
         state().blocks.empty() && state().events.empty();
}

size_t CountingAcl::allocators() const { return state().allocators.size(); }

void reset_device() {
  State& all = state();
  std::lock_guard guard(all.mutex);
  for (auto& [base, reservation] : all.reservations) ::munmap(reservation.whole, reservation.whole_bytes);
  for (auto& [memory, bytes] : all.blocks) ::munmap(memory, bytes);
  all.reservations.clear();
  all.physical.clear();
  all.mappings.clear();
  all.blocks.clear();
  for (Event* event : all.events) delete event;
  all.events.clear();
  all.device = CountingAcl{};
  if (all.memfd >= 0) ::close(all.memfd);
  all.memfd = -1;
  all.free_offsets.clear();
  all.next_offset = 0;
  all.ticket = all.finished = 0;
}

}  // namespace plat::test

using namespace plat::test;

extern "C" {

aclError aclrtGetDevice(int32_t* id) { return *id = 0, ACL_SUCCESS; }
aclError aclrtGetDeviceCount(uint32_t* count) { return *count = 8, ACL_SUCCESS; }
const char* aclrtGetSocName(void) { return device().soc; }
aclError aclrtGetRunMode(aclrtRunMode* mode) {
  return *mode = device().on_itself ? ACL_DEVICE : ACL_HOST, ACL_SUCCESS;
}
const char* aclGetRecentErrMsg(void) { return nullptr; }
aclError aclrtGetMemInfo(aclrtMemAttr, size_t* free, size_t* total) {
  *total = device().capacity_bytes;
  *free = *total - device().held_bytes;
  return ACL_SUCCESS;
}

aclError aclrtReserveMemAddress(void** out, size_t size, size_t alignment, void* expected, uint64_t flags) {
  std::lock_guard guard(state().mutex);
  if (alignment != 0 || expected != nullptr || flags != 0 || size == 0)
    return broken("reserve: reserved argument"), ACL_ERROR_INVALID_PARAM;
  if (std::strcmp(device().soc, "Ascend310") == 0 || device().on_itself)
    return broken("reserve: no virtual memory"), ACL_ERROR_RT_FEATURE_NOT_SUPPORT;
  if (size > (uint64_t{128} << 30)) return ACL_ERROR_RT_MEMORY_ALLOCATION;
  if (refuse("aclrtReserveMemAddress")) return device().fail_code;
  const uint64_t whole = size + kPage;
  void* memory = ::mmap(nullptr, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return ACL_ERROR_RT_MEMORY_ALLOCATION;
  const uint64_t base = (number(memory) + kPage - 1) & ~(kPage - 1);
  state().reservations[base] = Reservation{(size + kPage - 1) & ~(kPage - 1), memory, whole};
  ++device().reserves;
  *out = reinterpret_cast<void*>(base);
  return ACL_SUCCESS;
}

aclError aclrtReleaseMemAddress(void* address) {
  std::lock_guard guard(state().mutex);
  auto found = state().reservations.find(number(address));
  if (found == state().reservations.end())
    return broken("release of what is not reserved"), ACL_ERROR_RT_PARAM_INVALID;
  for (auto& [at, handle] : state().mappings)
    if (at >= found->first && at < found->first + found->second.bytes)
      return broken("release while mapped"), ACL_ERROR_RT_DRV_INTERNAL_ERROR;
  ::munmap(found->second.whole, found->second.whole_bytes);
  state().reservations.erase(found);
  ++device().releases;
  return ACL_SUCCESS;
}

aclError aclrtMallocPhysical(aclrtDrvMemHandle* handle, size_t size, const aclrtPhysicalMemProp* prop,
                             uint64_t flags) {
  std::lock_guard guard(state().mutex);
  if (size == 0 || size % kPage != 0 || flags != 0 || prop->reserve != 0)
    return broken("physical memory not in whole pages"), ACL_ERROR_INVALID_PARAM;
  if (refuse("aclrtMallocPhysical")) return device().fail_code;
  if (device().held_bytes + size > device().capacity_bytes) return ACL_ERROR_RT_MEMORY_ALLOCATION;
  off_t offset = 0;
  if (device().backed) {
    if (state().memfd < 0) state().memfd = ::memfd_create("counting", 0);
    if (size == kPage && !state().free_offsets.empty()) {
      offset = state().free_offsets.back();
      state().free_offsets.pop_back();
    } else {
      offset = state().next_offset;
      state().next_offset += static_cast<off_t>(size);
      if (::ftruncate(state().memfd, state().next_offset) != 0) return ACL_ERROR_RT_MEMORY_ALLOCATION;
    }
  }
  *handle = reinterpret_cast<void*>(state().next_handle++ << 4);
  state().physical[*handle] = Physical{size, prop->location.id, offset};
  device().held_bytes += size;
  ++device().creates;
  return ACL_SUCCESS;
}

aclError aclrtFreePhysical(aclrtDrvMemHandle handle) {
  std::lock_guard guard(state().mutex);
  auto found = state().physical.find(handle);
  if (found == state().physical.end()) return broken("free of an unknown handle"), ACL_ERROR_RT_PARAM_INVALID;
  if (found->second.mapped_at != 0) return broken("free of a mapped handle"), ACL_ERROR_RT_PARAM_INVALID;
  device().held_bytes -= found->second.bytes;
  if (device().backed) {
    ::fallocate(state().memfd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, found->second.offset,
                static_cast<off_t>(found->second.bytes));
    state().free_offsets.push_back(found->second.offset);
  }
  state().physical.erase(found);
  ++device().destroys;
  return ACL_SUCCESS;
}

aclError aclrtMapMem(void* address, size_t size, size_t offset, aclrtDrvMemHandle handle, uint64_t flags) {
  std::lock_guard guard(state().mutex);
  auto found = state().physical.find(handle);
  if (found == state().physical.end()) return broken("map of an unknown handle"), ACL_ERROR_RT_PARAM_INVALID;
  if (offset != 0 || flags != 0 || size != found->second.bytes)
    return broken("a handle is mapped whole, at offset 0"), ACL_ERROR_RT_PARAM_INVALID;
  if (number(address) % kPage != 0)
    return broken("map at no multiple of 2 MiB"), ACL_ERROR_RT_DRV_INTERNAL_ERROR;
  const auto* reservation = reservation_of(number(address));
  if (reservation == nullptr || number(address) + size > reservation->first + reservation->second.bytes)
    return broken("map outside a reservation"), ACL_ERROR_RT_DRV_INTERNAL_ERROR;
  if (found->second.mapped_at != 0)
    return broken("map of a handle that is mapped"), ACL_ERROR_RT_DRV_INTERNAL_ERROR;
  for (uint64_t page = 0; page < size; page += kPage)
    if (state().mappings.count(number(address) + page) != 0)
      return broken("map over a mapping"), ACL_ERROR_RT_DRV_INTERNAL_ERROR;
  auto& bound = const_cast<Reservation&>(reservation->second).device;
  if (bound >= 0 && bound != static_cast<int32_t>(found->second.owner))
    return broken("two devices in one reservation"), ACL_ERROR_RT_DRV_INTERNAL_ERROR;
  if (refuse("aclrtMapMem")) return device().fail_code;
  bound = static_cast<int32_t>(found->second.owner);
  if (device().backed)
    ::mmap(address, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, state().memfd,
           found->second.offset);
  state().mappings[number(address)] = handle;
  found->second.mapped_at = number(address);
  ++device().maps;
  return ACL_SUCCESS;
}

aclError aclrtUnmapMem(void* address) {
  std::lock_guard guard(state().mutex);
  auto found = state().mappings.find(number(address));
  if (found == state().mappings.end())
    return broken("unmap of what is not mapped"), ACL_ERROR_RT_DRV_INTERNAL_ERROR;
  if (refuse("aclrtUnmapMem")) return ACL_ERROR_RT_DRV_INTERNAL_ERROR;
  Physical& physical = state().physical[found->second];
  if (device().backed)
    ::mmap(address, physical.bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
           0);
  physical.mapped_at = 0;
  state().mappings.erase(found);
  ++device().unmaps;
  return ACL_SUCCESS;
}

aclError aclrtMalloc(void** out, size_t size, aclrtMemMallocPolicy) {
  return allocate("aclrtMalloc", out, size, true);
}
aclError aclrtMallocCached(void** out, size_t size, aclrtMemMallocPolicy) {
  return allocate("aclrtMallocCached", out, size, true);
}
aclError aclrtMallocHost(void** out, size_t size) { return allocate("aclrtMallocHost", out, size, false); }
aclError acldvppMalloc(void** out, size_t size) { return allocate("acldvppMalloc", out, size, true); }
aclError aclrtFree(void* memory) { return deallocate(memory, true); }
aclError aclrtFreeHost(void* memory) { return deallocate(memory, false); }
aclError acldvppFree(void* memory) { return deallocate(memory, true); }

aclError aclrtMemcpy(void* to, size_t room, const void* from, size_t count, aclrtMemcpyKind) {
  {
    std::lock_guard guard(state().mutex);
    if (count > room) return broken("copy beyond the destination"), ACL_ERROR_RT_PARAM_INVALID;
    if (refuse("aclrtMemcpy")) return ACL_ERROR_RT_DRV_INTERNAL_ERROR;
    if (!device().backed) return ACL_SUCCESS;
  }
  std::memcpy(to, from, count);
  return ACL_SUCCESS;
}
aclError aclrtMemset(void* to, size_t room, int32_t value, size_t count) {
  if (count > room) return broken("set beyond the destination"), ACL_ERROR_RT_PARAM_INVALID;
  std::memset(to, value, count);
  return ACL_SUCCESS;
}

aclError aclrtCreateEventWithFlag(aclrtEvent* event, uint32_t) {
  std::lock_guard guard(state().mutex);
  if (refuse("aclrtCreateEventWithFlag")) return ACL_ERROR_RT_RESOURCE_ALLOC_FAIL;
  auto* made = new Event;
  state().events.insert(made);
  *event = made;
  return ACL_SUCCESS;
}
aclError aclrtDestroyEvent(aclrtEvent event) {
  std::lock_guard guard(state().mutex);
  if (state().events.erase(static_cast<Event*>(event)) == 0)
    return broken("destroy of an unknown event"), ACL_ERROR_RT_PARAM_INVALID;
  delete static_cast<Event*>(event);
  return ACL_SUCCESS;
}
aclError aclrtRecordEvent(aclrtEvent event, aclrtStream stream) {
  std::lock_guard guard(state().mutex);
  if (is_gone(stream)) return ACL_ERROR_RT_INVALID_HANDLE;
  if (refuse("aclrtRecordEvent")) return ACL_ERROR_RT_DRV_INTERNAL_ERROR;
  static_cast<Event*>(event)->recorded = ++state().ticket;
  ++device().events_recorded;
  if (device().streams_finish) state().finished = state().ticket;
  return ACL_SUCCESS;
}
aclError aclrtQueryEventStatus(aclrtEvent event, aclrtEventRecordedStatus* status) {
  std::lock_guard guard(state().mutex);
  *status = static_cast<Event*>(event)->recorded <= state().finished ? ACL_EVENT_RECORDED_STATUS_COMPLETE
                                                                     : ACL_EVENT_RECORDED_STATUS_NOT_READY;
  return ACL_SUCCESS;
}
aclError aclrtStreamQuery(aclrtStream stream, aclrtStreamStatus* status) {
  std::lock_guard guard(state().mutex);
  if (is_gone(stream)) return ACL_ERROR_RT_INVALID_HANDLE;
  return *status = device().streams_finish ? ACL_STREAM_STATUS_COMPLETE : ACL_STREAM_STATUS_NOT_READY,
         ACL_SUCCESS;
}
aclError aclrtGetCurrentContext(aclrtContext* context) { return *context = nullptr, ACL_SUCCESS; }
aclError aclrtSetCurrentContext(aclrtContext) { return ACL_SUCCESS; }
aclError aclrtSetDevice(int32_t) { return ACL_SUCCESS; }
aclError aclrtSynchronizeEvent(aclrtEvent event) {
  std::lock_guard guard(state().mutex);
  state().finished = std::max(state().finished, static_cast<Event*>(event)->recorded);
  ++device().synchronizes;
  return ACL_SUCCESS;
}
aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent) {
  std::lock_guard guard(state().mutex);
  if (is_gone(stream)) return ACL_ERROR_RT_INVALID_HANDLE;
  ++device().stream_waits;
  return ACL_SUCCESS;
}
aclError aclrtSynchronizeStream(aclrtStream stream) {
  std::lock_guard guard(state().mutex);
  if (is_gone(stream)) return ACL_ERROR_RT_INVALID_HANDLE;
  state().finished = state().ticket;
  ++device().synchronizes;
  return ACL_SUCCESS;
}

// The description is a plain array here: object, alloc, free, advise, address.
aclrtAllocatorDesc aclrtAllocatorCreateDesc(void) { return std::calloc(5, sizeof(void*)); }
aclError aclrtAllocatorDestroyDesc(aclrtAllocatorDesc desc) { return std::free(desc), ACL_SUCCESS; }
aclError aclrtAllocatorSetObjToDesc(aclrtAllocatorDesc desc, aclrtAllocator object) {
  return static_cast<void**>(desc)[0] = object, ACL_SUCCESS;
}
aclError aclrtAllocatorSetAllocFuncToDesc(aclrtAllocatorDesc desc, aclrtAllocatorAllocFunc call) {
  return static_cast<void**>(desc)[1] = reinterpret_cast<void*>(call), ACL_SUCCESS;
}
aclError aclrtAllocatorSetFreeFuncToDesc(aclrtAllocatorDesc desc, aclrtAllocatorFreeFunc call) {
  return static_cast<void**>(desc)[2] = reinterpret_cast<void*>(call), ACL_SUCCESS;
}
aclError aclrtAllocatorSetAllocAdviseFuncToDesc(aclrtAllocatorDesc desc, aclrtAllocatorAllocAdviseFunc call) {
  return static_cast<void**>(desc)[3] = reinterpret_cast<void*>(call), ACL_SUCCESS;
}
aclError aclrtAllocatorSetGetAddrFromBlockFuncToDesc(aclrtAllocatorDesc desc,
                                                     aclrtAllocatorGetAddrFromBlockFunc call) {
  return static_cast<void**>(desc)[4] = reinterpret_cast<void*>(call), ACL_SUCCESS;
}
aclError aclrtAllocatorRegister(aclrtStream stream, aclrtAllocatorDesc desc) {
  void** from = static_cast<void**>(desc);
  if (from[0] == nullptr || from[1] == nullptr || from[2] == nullptr || from[4] == nullptr)
    return ACL_ERROR_INVALID_PARAM;
  state().allocators[stream] = from[0];
  return ACL_SUCCESS;
}
aclError aclrtAllocatorUnregister(aclrtStream stream) {
  return state().allocators.erase(stream), ACL_SUCCESS;
}

}  // extern "C"
