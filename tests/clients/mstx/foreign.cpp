// SPDX-License-Identifier: Apache-2.0
// An image that was built with another mstx: the attach protocol by its own means, as any implementation must
// agree on. It has tables of its own, here those of an older version without permissions.
#include <dlfcn.h>

#include <cstdint>
#include <cstdlib>

namespace {

using Function = void (*)();
using Table = Function**;

Function g_core[4], g_mem[5];
Function* g_core_table[] = {nullptr, &g_core[0], &g_core[1], &g_core[2], &g_core[3], nullptr};
Function* g_mem_table[] = {nullptr, &g_mem[0], &g_mem[1], &g_mem[2], &g_mem[3], nullptr};

int get_table(int module, Table* table, unsigned int* count) {
  if (module != 1 && module != 3) return 1;
  *table = module == 1 ? g_core_table : g_mem_table;
  *count = 5;
  return 0;
}

}  // namespace

// Returns the tool id, or -1 if there was no tool.
extern "C" __attribute__((visibility("default"))) int64_t mark_from_foreign(const char* text) {
  const char* path = getenv("MSTX_INJECTION_PATH");
  void* library = path != nullptr ? dlopen(path, RTLD_LAZY | RTLD_LOCAL) : nullptr;
  void* symbol = dlsym(library, "InitInjectionMstx");
  if (symbol == nullptr) return -1;
  if (reinterpret_cast<int (*)(int (*)(int, Table*, unsigned int*))>(symbol)(get_table) != 0) return -1;
  if (g_core[0] != nullptr) reinterpret_cast<void (*)(const char*, void*)>(g_core[0])(text, nullptr);
  uint64_t id = 0;
  if (g_core[3] != nullptr) reinterpret_cast<void (*)(uint64_t*)>(g_core[3])(&id);
  return static_cast<int64_t>(id);
}
