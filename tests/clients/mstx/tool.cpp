// SPDX-License-Identifier: Apache-2.0
// A tool as they come: a library with an InitInjectionMstx, which appends a line to $MSTX_TEST_LOG for all it
// hears. Built several times under different names and with different habits:
//
//   TOOL_NAME          what its lines begin with
//   TOOL_NO_SYMBOL     has no InitInjectionMstx
//   TOOL_FAILS         stores its functions, then refuses
//   TOOL_SOME          stores only mark and heap registration
//   TOOL_GREEDY        tests `count >= id`, and was built for an id more than there is
//   TOOL_SLOW          stores mark, then waits until the program's threads are calling
//   TOOL_REENTRANT     calls the program back while it starts, which uses mstx
//   TOOL_EXTENSIONS    knows Plat's module, and can be unloaded

#define MSTX_NO_IMPL
#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>

#include "plat/mstx_ext.h"

namespace {

std::atomic<bool> g_ready{false};
std::atomic<uint64_t> g_handles{0};

__attribute__((format(printf, 1, 2))) void say(const char* format, ...) {
  const char* path = getenv("MSTX_TEST_LOG");
  if (path == nullptr) return;
  char line[512];
  int length = snprintf(line, sizeof(line), "%s ", TOOL_NAME);
  va_list args;
  va_start(args, format);
  length += vsnprintf(line + length, sizeof(line) - static_cast<size_t>(length) - 1, format, args);
  va_end(args);
  line[length++] = '\n';
  const int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0 || write(fd, line, static_cast<size_t>(length)) != length) abort();
  close(fd);
}

template <class Pointer>
Pointer new_handle() {
  return reinterpret_cast<Pointer>(0x100000 + 16 * ++g_handles);
}

[[maybe_unused]] void mark(const char* message, aclrtStream stream) {
  if (!g_ready) say("TOO EARLY");
  say("mark %s %llu", message, static_cast<unsigned long long>(reinterpret_cast<uint64_t>(stream)));
}
[[maybe_unused]] mstxRangeId range_start(const char* message, aclrtStream) {
  say("range_start %s", message);
  return 0x1122334455667700 + ++g_handles;
}
[[maybe_unused]] void range_end(mstxRangeId id) {
  say("range_end %llx", static_cast<unsigned long long>(id >> 8));
}
[[maybe_unused]] void get_tool_id(uint64_t* id) { *id = TOOL_ID; }
[[maybe_unused]] mstxDomainHandle_t domain_create(const char* name) {
  say("domain_create %s", name);
  return new_handle<mstxDomainHandle_t>();
}
[[maybe_unused]] void domain_destroy(mstxDomainHandle_t) { say("domain_destroy"); }
[[maybe_unused]] void domain_mark(mstxDomainHandle_t domain, const char* message, aclrtStream) {
  say("domain_mark %s %s", domain != nullptr ? "set" : "null", message);
}
[[maybe_unused]] mstxRangeId domain_range_start(mstxDomainHandle_t, const char* message, aclrtStream) {
  say("domain_range_start %s", message);
  return ++g_handles;
}
[[maybe_unused]] void domain_range_end(mstxDomainHandle_t, mstxRangeId) { say("domain_range_end"); }
[[maybe_unused]] mstxMemHeapHandle_t heap_register(mstxDomainHandle_t, const mstxMemHeapDesc_t* desc) {
  const auto* range = static_cast<const mstxMemVirtualRangeDesc_t*>(desc->typeSpecificDesc);
  say("heap_register %llu", static_cast<unsigned long long>(range->size));
  return new_handle<mstxMemHeapHandle_t>();
}
[[maybe_unused]] void heap_unregister(mstxDomainHandle_t, mstxMemHeapHandle_t) { say("heap_unregister"); }
[[maybe_unused]] void regions_register(mstxDomainHandle_t, const mstxMemRegionsRegisterBatch_t* desc) {
  const auto* ranges = static_cast<const mstxMemVirtualRangeDesc_t*>(desc->regionDescArray);
  // Reads all there is, so that a memory checker notices what was not set.
  say("regions_register %s type %d count %zu handles %s size %llu", desc->heap != nullptr ? "heap" : "none",
      static_cast<int>(desc->regionType), desc->regionCount,
      desc->regionHandleArrayOut != nullptr ? "yes" : "no", static_cast<unsigned long long>(ranges[0].size));
  if (desc->regionHandleArrayOut == nullptr) return;
  for (size_t i = 0; i < desc->regionCount; ++i)
    desc->regionHandleArrayOut[i] = new_handle<mstxMemRegionHandle_t>();
}
[[maybe_unused]] void regions_unregister(mstxDomainHandle_t, const mstxMemRegionsUnregisterBatch_t* desc) {
  say("regions_unregister %zu by %s", desc->refCount,
      desc->refArray[0].refType == MSTX_MEM_REGION_REF_TYPE_HANDLE ? "handle" : "pointer");
}
[[maybe_unused]] void permissions_assign(mstxDomainHandle_t, const mstxMemPermissionsAssignBatch_t* desc) {
  say("permissions_assign %u", desc->regionDescArray[0].flags);
}
[[maybe_unused]] void heap_name(mstxDomainHandle_t, mstxMemHeapHandle_t, const char* name) {
  say("heap_name %s", name);
}
[[maybe_unused]] void replay_begin(const platMstxReplay_t* replay) {
  say("replay complete %u heaps %llu regions %llu", replay->complete,
      static_cast<unsigned long long>(replay->heapCount),
      static_cast<unsigned long long>(replay->regionCount));
}
[[maybe_unused]] void detach() { say("detach"); }

template <class Function>
[[maybe_unused]] void store(mstxFuncTable table, unsigned int count, unsigned int id, Function* function) {
#ifdef TOOL_GREEDY
  if (count >= id) *(table[id]) = reinterpret_cast<mstxFuncPointer>(function);
#else
  if (count > id) *(table[id]) = reinterpret_cast<mstxFuncPointer>(function);
#endif
}

}  // namespace

#ifndef TOOL_NO_SYMBOL
extern "C" __attribute__((visibility("default"))) int InitInjectionMstx(
    mstxGetModuleFuncTableFunc get_table) {
  say("init");
  mstxFuncTable table = nullptr;
  unsigned int count = 0;
  if (get_table(MSTX_API_MODULE_CORE, &table, &count) != MSTX_SUCCESS) return MSTX_FAIL;
  store(table, count, MSTX_API_CORE_MARK_A, mark);
#ifdef TOOL_SLOW
  const auto* calling = static_cast<std::atomic<int>*>(dlsym(RTLD_DEFAULT, "mstx_test_calling"));
  while (calling != nullptr && *calling < 4) sched_yield();
#endif
#ifdef TOOL_REENTRANT
  if (void* symbol = dlsym(RTLD_DEFAULT, "mstx_test_callback")) reinterpret_cast<void (*)()>(symbol)();
#endif
#ifndef TOOL_SOME
  store(table, count, MSTX_API_CORE_RANGE_START_A, range_start);
  store(table, count, MSTX_API_CORE_RANGE_END, range_end);
  store(table, count, MSTX_API_CORE_GET_TOOL_ID, get_tool_id);
#ifdef TOOL_GREEDY
  store(table, count, MSTX_API_CORE_SIZE, mark);
#endif
  if (get_table(MSTX_API_MODULE_CORE_DOMAIN, &table, &count) != MSTX_SUCCESS) return MSTX_FAIL;
  store(table, count, MSTX_API_CORE2_DOMAIN_CREATE_A, domain_create);
  store(table, count, MSTX_API_CORE2_DOMAIN_DESTROY, domain_destroy);
  store(table, count, MSTX_API_CORE2_DOMAIN_MARK_A, domain_mark);
  store(table, count, MSTX_API_CORE2_DOMAIN_RANGE_START_A, domain_range_start);
  store(table, count, MSTX_API_CORE2_DOMAIN_RANGE_END, domain_range_end);
#ifdef TOOL_GREEDY
  store(table, count, MSTX_API_CORE2_SIZE, mark);
#endif
#endif
  if (get_table(MSTX_API_MODULE_CORE_MEM, &table, &count) != MSTX_SUCCESS) return MSTX_FAIL;
  store(table, count, MSTX_API_CORE_MEMHEAP_REGISTER, heap_register);
#ifndef TOOL_SOME
  store(table, count, MSTX_API_CORE_MEMHEAP_UNREGISTER, heap_unregister);
  store(table, count, MSTX_API_CORE_MEM_REGIONS_REGISTER, regions_register);
  store(table, count, MSTX_API_CORE_MEM_REGIONS_UNREGISTER, regions_unregister);
  store(table, count, MSTX_API_CORE_MEM_PERMISSIONS_ASSIGN, permissions_assign);
#ifdef TOOL_GREEDY
  store(table, count, MSTX_API_CORE_MEM_SIZE, mark);
#endif
#endif
#ifdef TOOL_EXTENSIONS
  if (get_table(PLAT_MSTX_MODULE, &table, &count) == MSTX_SUCCESS) {
    store(table, count, PLAT_MSTX_FUNC_HEAP_NAME, heap_name);
    store(table, count, PLAT_MSTX_FUNC_REPLAY_BEGIN, replay_begin);
    store(table, count, PLAT_MSTX_FUNC_DETACH, detach);
  }
#endif
  g_ready = true;
#ifdef TOOL_FAILS
  return MSTX_FAIL;
#else
  return MSTX_SUCCESS;
#endif
}
#endif
