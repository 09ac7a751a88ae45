// SPDX-License-Identifier: Apache-2.0
#include "inspect/record/modules.h"

#include <link.h>
#include <unistd.h>

#include <climits>
#include <cstring>
#include <mutex>
#include <new>

#include "inspect/record/recorder.h"

namespace plat::inspect {

namespace {

// How many files were ever loaded when we last looked; the number only grows.
struct Seen {
  std::mutex mutex;
  unsigned long long adds = 0;
  bool known(uint64_t load, const char* path) {
    for (uint32_t i = 0; i < count; ++i)
      if (loads[i] == load && std::strncmp(paths[i], path, sizeof paths[i] - 1) == 0) return true;
    if (count < kMax) {
      loads[count] = load;
      std::memcpy(paths[count], path, strnlen(path, sizeof paths[count] - 1));
      ++count;
    }
    return false;
  }

  static constexpr uint32_t kMax = 1024;
  uint64_t loads[kMax] = {};
  char paths[kMax][64] = {};
  uint32_t count = 0;
};

Seen g_seen;

uint64_t first_code(const dl_phdr_info& info, uint64_t& last) {
  uint64_t first = 0;
  for (unsigned i = 0; i < info.dlpi_phnum; ++i) {
    const auto& part = info.dlpi_phdr[i];
    if (part.p_type != PT_LOAD || (part.p_flags & PF_X) == 0) continue;
    if (first == 0) first = info.dlpi_addr + part.p_vaddr;
    last = info.dlpi_addr + part.p_vaddr + part.p_memsz;
  }
  return first;
}

int note_one(dl_phdr_info* info, size_t, void*) {
  uint64_t last = 0;
  const uint64_t first = first_code(*info, last);
  char path[PATH_MAX] = {};
  std::strncpy(path, info->dlpi_name, sizeof path - 1);
  if (*path == '\0') {  // the program itself
    const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    if (length > 0) path[length] = '\0';
  }
  if (first == 0 || g_seen.known(info->dlpi_addr, path)) return 0;
  write<Op::Module>({.ticks = t_state.last_ticks}, {info->dlpi_addr, first, last}, path);
  return 0;
}

int look_at_adds(dl_phdr_info* info, size_t, void* adds) {
  *static_cast<unsigned long long*>(adds) = info->dlpi_adds;
  return 1;
}

int find_self(dl_phdr_info* info, size_t, void* range) {
  uint64_t last = 0;
  const uint64_t first = first_code(*info, last);
  const auto self = reinterpret_cast<uint64_t>(&find_self);
  if (self < first || self >= last) return 0;
  static_cast<uint64_t*>(range)[0] = first;
  static_cast<uint64_t*>(range)[1] = last;
  return 1;
}

}  // namespace

void note_modules() {
  unsigned long long adds = 0;
  dl_iterate_phdr(look_at_adds, &adds);
  const std::lock_guard lock(g_seen.mutex);
  if (adds == g_seen.adds) return;
  g_seen.adds = adds;
  dl_iterate_phdr(note_one, nullptr);
}

void forget_modules() {
  g_seen.~Seen();
  new (&g_seen) Seen;
}

bool is_own_code(uintptr_t address) {
  static const auto range = [] {
    std::array<uint64_t, 2> found{};
    dl_iterate_phdr(find_self, found.data());
    return found;
  }();
  return address >= range[0] && address < range[1];
}

}  // namespace plat::inspect
