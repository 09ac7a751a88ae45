// SPDX-License-Identifier: Apache-2.0
// FakeTool<N>: a tool that keeps books and has handles of its own. Functions of mstx carry no context, hence
// a type for each tool; a lock makes it fit for threads.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "mstx/broker_types.h"

namespace plat::mstx::test {

struct Books {
  struct HeapEntry {
    mstxDomainHandle_t domain;
    const void* start;
    uint64_t size;
    std::string name;
  };
  struct RegionEntry {
    mstxDomainHandle_t domain;
    mstxMemHeapHandle_t heap;
    const void* start;
    uint64_t size;
    uint32_t permissions;  // ~0: never assigned
    std::string name;
  };
  std::map<mstxDomainHandle_t, std::string> domains;
  std::map<mstxMemHeapHandle_t, HeapEntry> heaps;
  std::map<mstxMemRegionHandle_t, RegionEntry> regions;
  std::map<uint64_t, std::string> ranges;
  std::vector<std::string> marks;
  std::vector<platMstxNotice_t> notices;
  std::vector<platMstxReplay_t> replays;
  std::vector<std::string> mistakes;  // what must not happen to a tool
  uint64_t initialized_bytes = 0;
  int inits = 0;
  int detaches = 0;
  int unregister_calls = 0;
  int domain_creations = 0;
  bool in_replay = false;
};

struct Habits {
  bool extensions = false;  // knows the module of our own
  bool refuse = false;      // InitInjectionMstx fails after storing its functions
  bool null_heaps = false;  // takes heaps without a handle
  bool null_domains = false;
  bool ranges_from_zero = false;
  bool only_marks = false;
  uint64_t tool_id = 0;
  std::function<void()> during_init;
  std::function<void()> during_mark;
  std::function<void()> during_region;
  std::function<void()> during_detach;
};

template <int N>
struct FakeTool {
  static inline std::mutex lock;
  static inline Books books;
  static inline Habits habits;
  static inline uint64_t last_handle = 0;
  static inline mstxGetModuleFuncTableFunc getter = nullptr;

  static void reset() {
    books = {};
    habits = {};
    last_handle = 0;
  }

  // Handles that look like no other tool's.
  template <class Pointer>
  static Pointer new_handle() {
    return reinterpret_cast<Pointer>(uint64_t{N} << 40 | (0x1000 + 16 * ++last_handle));
  }

  static void mistake(std::string what) { books.mistakes.push_back(std::move(what)); }

  static std::map<mstxMemRegionHandle_t, Books::RegionEntry>::iterator find(const mstxMemRegionRef_t& ref) {
    if (ref.refType == MSTX_MEM_REGION_REF_TYPE_HANDLE) return books.regions.find(ref.handle);
    auto found = books.regions.end();  // the newest
    for (auto region = books.regions.begin(); region != books.regions.end(); ++region)
      if (region->second.start == ref.pointer) found = region;
    return found;
  }
  static void check_domain(mstxDomainHandle_t domain) {
    if (domain != nullptr && books.domains.count(domain) == 0) mistake("a domain that is not mine");
  }

  static void mark(const char* message, aclrtStream) {
    if (habits.during_mark) habits.during_mark();
    std::lock_guard guard(lock);
    books.marks.push_back(message);
  }
  static mstxRangeId range_start(const char* message, aclrtStream) {
    std::lock_guard guard(lock);
    const uint64_t id = habits.ranges_from_zero ? last_handle++ : (uint64_t{N} << 40) + ++last_handle;
    books.ranges[id] = message;
    return id;
  }
  static void range_end(mstxRangeId id) {
    std::lock_guard guard(lock);
    if (books.ranges.erase(id) == 0) mistake("a range that is not mine");
  }
  static void get_tool_id(uint64_t* id) { *id = habits.tool_id; }

  static mstxDomainHandle_t domain_create(const char* name) {
    std::lock_guard guard(lock);
    ++books.domain_creations;
    if (habits.null_domains) return nullptr;
    for (const auto& [handle, known] : books.domains)
      if (known == name) return handle;
    const auto handle = new_handle<mstxDomainHandle_t>();
    books.domains[handle] = name;
    return handle;
  }
  static void domain_destroy(mstxDomainHandle_t domain) {
    std::lock_guard guard(lock);
    if (books.domains.erase(domain) == 0) mistake("destroys a domain that is not mine");
  }
  static void domain_mark(mstxDomainHandle_t domain, const char* message, aclrtStream) {
    std::lock_guard guard(lock);
    books.marks.push_back((domain == nullptr             ? "-"
                           : books.domains.count(domain) ? books.domains[domain]
                                                         : "?") +
                          ":" + message);
  }
  static mstxRangeId domain_range_start(mstxDomainHandle_t domain, const char* message, aclrtStream stream) {
    {
      std::lock_guard guard(lock);
      check_domain(domain);
    }
    return range_start(message, stream);
  }
  static void domain_range_end(mstxDomainHandle_t domain, mstxRangeId id) {
    {
      std::lock_guard guard(lock);
      check_domain(domain);
    }
    range_end(id);
  }

  static mstxMemHeapHandle_t heap_register(mstxDomainHandle_t domain, const mstxMemHeapDesc_t* desc) {
    std::lock_guard guard(lock);
    check_domain(domain);
    if (habits.null_heaps) return nullptr;
    const auto& range = *static_cast<const mstxMemVirtualRangeDesc_t*>(desc->typeSpecificDesc);
    const auto handle = new_handle<mstxMemHeapHandle_t>();
    books.heaps[handle] = {domain, range.ptr, range.size, ""};
    return handle;
  }
  static void heap_unregister(mstxDomainHandle_t domain, mstxMemHeapHandle_t heap) {
    std::lock_guard guard(lock);
    check_domain(domain);
    if (books.heaps.erase(heap) == 0) mistake("unregisters a heap that is not mine");
    std::erase_if(books.regions, [&](const auto& region) { return region.second.heap == heap; });
  }
  static void regions_register(mstxDomainHandle_t domain, const mstxMemRegionsRegisterBatch_t* desc) {
    if (habits.during_region) habits.during_region();
    std::lock_guard guard(lock);
    check_domain(domain);
    if (desc->heap != nullptr && books.heaps.count(desc->heap) == 0)
      mistake("a region of a heap that is not mine");
    const auto* ranges = static_cast<const mstxMemVirtualRangeDesc_t*>(desc->regionDescArray);
    for (size_t i = 0; i < desc->regionCount; ++i) {
      const auto handle = new_handle<mstxMemRegionHandle_t>();
      books.regions[handle] = {domain, desc->heap, ranges[i].ptr, ranges[i].size, ~0u, ""};
      if (desc->regionHandleArrayOut != nullptr) desc->regionHandleArrayOut[i] = handle;
    }
  }
  static void regions_unregister(mstxDomainHandle_t domain, const mstxMemRegionsUnregisterBatch_t* desc) {
    std::lock_guard guard(lock);
    check_domain(domain);
    ++books.unregister_calls;
    for (size_t i = 0; i < desc->refCount; ++i) {
      const auto found = find(desc->refArray[i]);
      if (found == books.regions.end())
        mistake("unregisters a region that is not mine");
      else
        books.regions.erase(found);
    }
  }
  static void permissions_assign(mstxDomainHandle_t domain, const mstxMemPermissionsAssignBatch_t* desc) {
    std::lock_guard guard(lock);
    check_domain(domain);
    for (size_t i = 0; i < desc->regionCount; ++i) {
      const auto found = find(desc->regionDescArray[i].region);
      if (found == books.regions.end())
        mistake("assigns to a region that is not mine");
      else
        found->second.permissions = desc->regionDescArray[i].flags;
    }
  }

  static void heap_name(mstxDomainHandle_t, mstxMemHeapHandle_t heap, const char* name) {
    std::lock_guard guard(lock);
    if (books.heaps.count(heap) == 0)
      mistake("names a heap that is not mine");
    else
      books.heaps[heap].name = name;
  }
  static void heap_reset(mstxDomainHandle_t, mstxMemHeapHandle_t heap) {
    std::lock_guard guard(lock);
    if (books.heaps.count(heap) == 0) mistake("resets a heap that is not mine");
    std::erase_if(books.regions, [&](const auto& region) { return region.second.heap == heap; });
  }
  static void regions_name(mstxDomainHandle_t, const platMstxMemRegionsNameBatch_t* desc) {
    std::lock_guard guard(lock);
    for (size_t i = 0; i < desc->regionCount; ++i)
      if (const auto found = find(desc->regionNameArray[i].region); found != books.regions.end())
        found->second.name = desc->regionNameArray[i].name;
  }
  static void regions_resize(mstxDomainHandle_t, const platMstxMemRegionsResizeBatch_t* desc) {
    std::lock_guard guard(lock);
    for (size_t i = 0; i < desc->regionCount; ++i)
      if (const auto found = find(desc->regionSizeArray[i].region); found != books.regions.end())
        found->second.size = desc->regionSizeArray[i].size;
  }
  static void mark_initialized(mstxDomainHandle_t, const platMstxMemInitializedBatch_t* desc) {
    std::lock_guard guard(lock);
    for (size_t i = 0; i < desc->rangeCount; ++i) books.initialized_bytes += desc->rangeArray[i].size;
  }
  static void replay_begin(const platMstxReplay_t* replay) {
    std::lock_guard guard(lock);
    books.replays.push_back(*replay);
    books.in_replay = true;
  }
  static void replay_end(const platMstxReplay_t*) {
    std::lock_guard guard(lock);
    books.in_replay = false;
  }
  static void notice(const platMstxNotice_t* notice) {
    std::lock_guard guard(lock);
    books.notices.push_back(*notice);
  }
  static void detach() {
    if (habits.during_detach) habits.during_detach();
    std::lock_guard guard(lock);
    ++books.detaches;
  }

  template <class Function>
  static void store(mstxFuncTable table, unsigned int count, int id, Function* function) {
    if (count > static_cast<unsigned int>(id)) *table[id] = reinterpret_cast<mstxFuncPointer>(function);
  }

  static int init(mstxGetModuleFuncTableFunc get_table) {
    getter = get_table;
    ++books.inits;
    mstxFuncTable table = nullptr;
    unsigned int count = 0;
    if (get_table(MSTX_API_MODULE_CORE, &table, &count) != MSTX_SUCCESS) return MSTX_FAIL;
    store(table, count, MSTX_API_CORE_MARK_A, mark);
    if (habits.during_init) habits.during_init();  // with a function stored and others to come
    if (habits.only_marks) return MSTX_SUCCESS;
    store(table, count, MSTX_API_CORE_RANGE_START_A, range_start);
    store(table, count, MSTX_API_CORE_RANGE_END, range_end);
    if (habits.tool_id != 0) store(table, count, MSTX_API_CORE_GET_TOOL_ID, get_tool_id);
    if (get_table(MSTX_API_MODULE_CORE_DOMAIN, &table, &count) != MSTX_SUCCESS) return MSTX_FAIL;
    store(table, count, MSTX_API_CORE2_DOMAIN_CREATE_A, domain_create);
    store(table, count, MSTX_API_CORE2_DOMAIN_DESTROY, domain_destroy);
    store(table, count, MSTX_API_CORE2_DOMAIN_MARK_A, domain_mark);
    store(table, count, MSTX_API_CORE2_DOMAIN_RANGE_START_A, domain_range_start);
    store(table, count, MSTX_API_CORE2_DOMAIN_RANGE_END, domain_range_end);
    if (get_table(MSTX_API_MODULE_CORE_MEM, &table, &count) != MSTX_SUCCESS) return MSTX_FAIL;
    store(table, count, MSTX_API_CORE_MEMHEAP_REGISTER, heap_register);
    store(table, count, MSTX_API_CORE_MEMHEAP_UNREGISTER, heap_unregister);
    store(table, count, MSTX_API_CORE_MEM_REGIONS_REGISTER, regions_register);
    store(table, count, MSTX_API_CORE_MEM_REGIONS_UNREGISTER, regions_unregister);
    store(table, count, MSTX_API_CORE_MEM_PERMISSIONS_ASSIGN, permissions_assign);
    if (habits.extensions && get_table(PLAT_MSTX_MODULE, &table, &count) == MSTX_SUCCESS) {
      store(table, count, PLAT_MSTX_FUNC_HEAP_NAME, heap_name);
      store(table, count, PLAT_MSTX_FUNC_HEAP_RESET, heap_reset);
      store(table, count, PLAT_MSTX_FUNC_REGIONS_NAME, regions_name);
      store(table, count, PLAT_MSTX_FUNC_REGIONS_RESIZE, regions_resize);
      store(table, count, PLAT_MSTX_FUNC_MARK_INITIALIZED, mark_initialized);
      store(table, count, PLAT_MSTX_FUNC_REPLAY_BEGIN, replay_begin);
      store(table, count, PLAT_MSTX_FUNC_REPLAY_END, replay_end);
      store(table, count, PLAT_MSTX_FUNC_NOTICE, notice);
      store(table, count, PLAT_MSTX_FUNC_DETACH, detach);
    }
    return habits.refuse ? MSTX_FAIL : MSTX_SUCCESS;
  }
};

using ToolA = FakeTool<1>;
using ToolB = FakeTool<2>;

}  // namespace plat::mstx::test
