// SPDX-License-Identifier: Apache-2.0
// aclrtMalloc and aclrtFree against a raw mmap and munmap of the same run.
#include <sys/mman.h>

#include <cstdlib>

#include "acl/acl.h"
#include "ratio.h"

using namespace plat::bench;

namespace {

constexpr int kBatch = 512;
void* blocks[kBatch];
void* maps[kBatch];

void check(aclError code) {
  if (code != ACL_SUCCESS) std::printf("%d: %s\n", code, aclGetRecentErrMsg()), std::exit(1);
}

void compare_size(const char* name, size_t size) {
  std::vector<double> malloc_ratio, free_ratio, malloc_ns, free_ns, mmap_ns;
  for (int round = 0; round < 31; ++round) {
    const double a = cpu_ns();
    for (auto& map : maps)
      map = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const double b = cpu_ns();
    for (auto& block : blocks) check(aclrtMalloc(&block, size, ACL_MEM_MALLOC_HUGE_FIRST));
    const double c = cpu_ns();
    for (auto& block : blocks) check(aclrtFree(block));
    const double d = cpu_ns();
    for (auto& map : maps) munmap(map, size);
    if (round == 0) continue;
    mmap_ns.push_back((b - a) / kBatch);
    malloc_ns.push_back((c - b) / kBatch);
    free_ns.push_back((d - c) / kBatch);
    malloc_ratio.push_back((c - b) / (b - a));
    free_ratio.push_back((d - c) / (b - a));
  }
  std::printf("%-24s mmap %7.0f ns  malloc %7.0f ns (%.2f)  free %7.0f ns (%.2f)\n", name, median(mmap_ns),
              median(malloc_ns), median(malloc_ratio), median(free_ns), median(free_ratio));
}

// The price of a call must not grow with the number of live blocks.
void many_live() {
  std::vector<void*> live;
  live.reserve(1000000);
  for (int step = 0; step < 10; ++step) {
    const double start = cpu_ns();
    for (int i = 0; i < 100000; ++i) {
      void* block = nullptr;
      check(aclrtMalloc(&block, 512, ACL_MEM_MALLOC_HUGE_FIRST));
      live.push_back(block);
    }
    if (step == 0 || step == 9)
      std::printf("malloc with %7d live blocks: %.0f ns\n", step * 100000, (cpu_ns() - start) / 100000);
  }
  const double start = cpu_ns();
  for (void* block : live) check(aclrtFree(block));
  std::printf("free of 1000000 blocks: %.0f ns each\n", (cpu_ns() - start) / 1000000);
}

}  // namespace

int main() {
  setenv("PLAT_NODE", "private", 0);
  setenv("PLAT_CAPACITY", "16GiB", 0);
  setenv("PLAT_QUIET", "1", 0);
  check(aclInit(nullptr));
  check(aclrtSetDevice(0));
  compare_size("64 bytes", 64);
  compare_size("64 KiB", 64 << 10);
  compare_size("1 MiB - 64", (1 << 20) - 64);
  compare_size("4 MiB", 4 << 20);
  many_live();
  return 0;
}
