// SPDX-License-Identifier: Apache-2.0
// What the seven steps cost, beside the system call that a naive device would make. Always exits with 0: a
// machine that others use is no judge, people are.
#include <fmt/format.h>
#include <glob.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <vector>

#include "acl/acl.h"
#include "base/units.h"
#include "lookup.h"
#include "support/measure.h"
#include "support/raw_mapping.h"

using namespace plat;
using namespace plat::bench;

namespace {

constexpr size_t kRounds = 31;
constexpr size_t kBatch = 512;
constexpr size_t kLiveMappings = 250'000;
constexpr size_t kDevices = 8;

aclrtPhysicalMemProp on_device(size_t device) {
  aclrtPhysicalMemProp prop{};
  prop.memAttr = ACL_HBM_MEM_HUGE;
  prop.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
  prop.location.id = static_cast<uint32_t>(device);
  return prop;
}

char* reserve(size_t size) {
  void* va = nullptr;
  must(aclrtReserveMemAddress(&va, size, 0, nullptr, 0), "aclrtReserveMemAddress");
  return static_cast<char*>(va);
}

void map_and_unmap(const char* mode, double target) {
  must(aclrtSetDevice(0), "aclrtSetDevice");
  RawMapping raw(kBatch);
  char* va = reserve(kBatch * kPage);
  const aclrtPhysicalMemProp prop = on_device(0);
  std::vector<aclrtDrvMemHandle> handles(kBatch);
  for (auto& handle : handles) must(aclrtMallocPhysical(&handle, kPage, &prop, 0), "aclrtMallocPhysical");
  Series base, map, unmap;
  for (size_t round = 0; round < kRounds; ++round) {
    base.add(raw.round());
    map.add(ns_each(kBatch, [&](size_t i) {
      must(aclrtMapMem(va + i * kPage, kPage, 0, handles[i], 0), "aclrtMapMem");
    }));
    unmap.add(ns_each(kBatch, [&](size_t i) { must(aclrtUnmapMem(va + i * kPage), "aclrtUnmapMem"); }));
  }
  print_row(fmt::format("map 2 MiB, {} / mmap", mode), ratio(map, base), "x", target, in_ns(map));
  print_row(fmt::format("unmap 2 MiB, {} / mmap", mode), ratio(unmap, base), "x", target, in_ns(unmap));
}

void allocate_and_free() {
  must(aclrtSetDevice(0), "aclrtSetDevice");
  RawMapping raw(kBatch);
  const aclrtPhysicalMemProp prop = on_device(0);
  std::vector<aclrtDrvMemHandle> handles(kBatch);
  Series base, allocate, free, query;
  for (size_t round = 0; round < kRounds; ++round) {
    base.add(raw.round());
    allocate.add(ns_each(kBatch, [&](size_t i) {
      must(aclrtMallocPhysical(&handles[i], kPage, &prop, 0), "aclrtMallocPhysical");
    }));
    query.add(ns_each(kBatch, [&](size_t) {
      size_t free_bytes = 0, total_bytes = 0;
      must(aclrtGetMemInfo(ACL_HBM_MEM, &free_bytes, &total_bytes), "aclrtGetMemInfo");
    }));
    free.add(ns_each(kBatch, [&](size_t i) { must(aclrtFreePhysical(handles[i]), "aclrtFreePhysical"); }));
  }
  print_row("allocate 2 MiB / mmap", ratio(allocate, base), "x", 0.6, in_ns(allocate));
  print_row("free 2 MiB, never written / mmap", ratio(free, base), "x", 0.6, in_ns(free));
  print_row("aclrtGetMemInfo / mmap", ratio(query, base), "x", 0, in_ns(query));
}

size_t lines_of(const char* path) {
  std::ifstream file(path);
  return static_cast<size_t>(std::count(std::istreambuf_iterator<char>(file), {}, '\n'));
}

Series once(double value) {
  Series series;
  series.add(value);
  return series;
}

void many_mappings() {
  const rlimit files{1024, 1024};
  setrlimit(RLIMIT_NOFILE, &files);
  const size_t each = kLiveMappings / kDevices;
  std::vector<char*> va(kDevices);
  std::vector<aclrtDrvMemHandle> handles(kLiveMappings);
  for (size_t device = 0; device < kDevices; ++device) {
    must(aclrtSetDevice(static_cast<int32_t>(device)), "aclrtSetDevice");
    va[device] = reserve(each * kPage);
  }
  const size_t vmas = lines_of("/proc/self/maps");
  const auto allocate = [&](size_t i) {
    const aclrtPhysicalMemProp prop = on_device(i % kDevices);
    must(aclrtMallocPhysical(&handles[i], kPage, &prop, 0), "aclrtMallocPhysical");
  };
  const auto address = [&](size_t i) { return va[i % kDevices] + i / kDevices * kPage; };
  const auto map = [&](size_t i) { must(aclrtMapMem(address(i), kPage, 0, handles[i], 0), "aclrtMapMem"); };
  const auto stretch = [](size_t first, size_t count, const auto& body) {
    return ns_each(count, [&](size_t i) { body(first + i); });
  };
  const size_t last = kLiveMappings - 1000;
  const double first_allocations = stretch(0, 1000, allocate);
  stretch(1000, last - 1000, allocate);
  const double last_allocations = stretch(last, 1000, allocate);
  Series first_maps, last_maps;
  for (size_t round = 0; round < 15; ++round) {
    first_maps.add(stretch(0, 1000, map));
    stretch(1000, last - 1000, map);
    last_maps.add(stretch(last, 1000, map));
    if (round == 14) break;
    for (size_t i = 0; i < kLiveMappings; ++i) must(aclrtUnmapMem(address(i)), "aclrtUnmapMem");
  }
  print_row("map: last thousand of 250,000 / first", ratio(last_maps, first_maps), "x", 1.5,
            in_ns(first_maps) + ", " + in_ns(last_maps));
  print_row("allocate: last thousand of 250,000 / first", once(last_allocations / first_allocations), "x", 0,
            fmt::format("{:.0f} ns, {:.0f} ns", first_allocations, last_allocations));
  print_row("mappings of the kernel that they take",
            once(static_cast<double>(lines_of("/proc/self/maps") - vmas)), "", 0);
}

double resident_kib() {
  std::ifstream file("/proc/self/statm");
  double total = 0, resident = 0;
  file >> total >> resident;
  return resident * 4;
}

void reservations() {
  Series small, large;
  for (size_t round = 0; round < kRounds; ++round) {
    small.add(
        ns_each(16, [&](size_t) { must(aclrtReleaseMemAddress(reserve(kPage)), "aclrtReleaseMemAddress"); }));
    large.add(ns_each(
        16, [&](size_t) { must(aclrtReleaseMemAddress(reserve(128_GiB)), "aclrtReleaseMemAddress"); }));
  }
  print_row("reserve and release 128 GiB / 2 MiB", ratio(large, small), "x", 0,
            in_ns(small) + ", " + in_ns(large));
  const double before = resident_kib();
  for (int i = 0; i < 160; ++i) reserve(128_GiB);
  print_row("memory that reserving 20 TiB takes", once(resident_kib() - before), "KiB", 0);
}

void remove_machine(const std::string& node) {
  glob_t found{};
  const std::string pattern = fmt::format("/dev/shm/plat-{}/{}-*", geteuid(), node);
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0)
    for (size_t i = 0; i < found.gl_pathc; ++i) unlink(found.gl_pathv[i]);
  globfree(&found);
}

}  // namespace

int main() {
  const std::string node = fmt::format("bench-{}", getpid());
  const std::vector<std::pair<const char*, std::string>> shared = {
      {"PLAT_NODE", node}, {"PLAT_LOG", "error"}, {"PLAT_QUIET", "1"}};
  print_header(
      "Virtual memory, on a machine that processes share; x: of the cost of mmap(MAP_FIXED) of 2 MiB");
  in_child(shared, [] { map_and_unmap("guarded", 0.03); });
  auto open = shared;
  open.emplace_back("PLAT_HOST_ACCESS", "allow");
  in_child(open, [] { map_and_unmap("host access", 1.3); });
  in_child(shared, allocate_and_free);
  in_child(shared, many_mappings);
  in_child(shared, reservations);
  for (const size_t mappings : {1'000, 30'000, 250'000})
    in_child({}, [&] {
      const Lookup lookup = lookup_ns(mappings);
      print_row(fmt::format("find the mapping behind an address, {} live", mappings), lookup.mapping, "ns",
                10);
      print_row("the same, with its start and size", lookup.range, "ns", 0);
    });
  remove_machine(node);
  return 0;
}
