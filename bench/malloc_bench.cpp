// SPDX-License-Identifier: Apache-2.0
// aclrtMalloc and aclrtFree, and the same of page-locked host memory, against a raw mmap and munmap of the
// same run.
#include <fmt/format.h>
#include <sys/mman.h>

#include <cstdlib>
#include <vector>

#include "acl/acl.h"
#include "support/measure.h"

using namespace plat::bench;

namespace {

constexpr int kBatch = 512;
void* blocks[kBatch];
void* maps[kBatch];

void check(aclError code) { must(code, "a call"); }

template <class Take, class Give>
void compare(const std::string& name, size_t size, double target, const Take& take, const Give& give) {
  Series mmaps, munmaps, takes, gives;
  for (int round = 0; round < 32; ++round) {
    const double a = thread_ns();
    for (auto& map : maps)
      map = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const double b = thread_ns();
    for (auto& block : blocks) check(take(&block));
    const double c = thread_ns();
    for (auto& block : blocks) check(give(block));
    const double d = thread_ns();
    for (auto& map : maps) munmap(map, size);
    const double e = thread_ns();
    if (round == 0) continue;
    mmaps.add((b - a) / kBatch);
    takes.add((c - b) / kBatch);
    gives.add((d - c) / kBatch);
    munmaps.add((e - d) / kBatch);
  }
  print_row(name + ": allocate / mmap", ratio(takes, mmaps), "x", target, in_ns(takes));
  print_row(name + ": free / munmap", ratio(gives, munmaps), "x", target, in_ns(gives));
}

void of_device(const char* name, size_t size) {
  compare(
      name, size, 0, [&](void** block) { return aclrtMalloc(block, size, ACL_MEM_MALLOC_HUGE_FIRST); },
      aclrtFree);
}

void of_host(const char* name, size_t size) {
  compare(
      fmt::format("page-locked, {}", name), size, 2,
      [&](void** block) { return aclrtMallocHost(block, size); }, aclrtFreeHost);
}

// The price of a call must not grow with the number of live blocks.
void many_live() {
  std::vector<void*> live;
  live.reserve(1000000);
  for (int step = 0; step < 10; ++step) {
    Series cost;
    cost.add(ns_each(100000, [&](size_t) {
      void* block = nullptr;
      check(aclrtMalloc(&block, 512, ACL_MEM_MALLOC_HUGE_FIRST));
      live.push_back(block);
    }));
    if (step == 0 || step == 9) print_row(fmt::format("malloc with {} live", step * 100000), cost, "ns", 0);
  }
  Series cost;
  cost.add(ns_each(live.size(), [&](size_t i) { check(aclrtFree(live[i])); }));
  print_row("free of 1000000 blocks", cost, "ns", 0);
}

}  // namespace

int main() {
  setenv("PLAT_NODE", "private", 0);
  setenv("PLAT_CAPACITY", "16GiB", 0);
  setenv("PLAT_QUIET", "1", 0);
  check(aclInit(nullptr));
  check(aclrtSetDevice(0));
  print_header("Allocating; x: of the cost of an anonymous mmap or munmap of the same size");
  of_device("64 bytes", 64);
  of_device("64 KiB", 64 << 10);
  of_device("1 MiB - 64", (1 << 20) - 64);
  of_device("4 MiB", 4 << 20);
  of_host("4 KiB", 4 << 10);
  of_host("64 KiB", 64 << 10);
  of_host("1 MiB", 1 << 20);
  many_live();
  return 0;
}
