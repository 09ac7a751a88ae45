// SPDX-License-Identifier: Apache-2.0
// Random calls of a program, with two tools that come and go, against a model.
//
// Each byte of the input chooses a call or an argument. The model is what the program holds; each tool keeps
// books of what it was told. After every call the books of every attached tool must agree with the model: the
// same domains, heaps, regions, sizes, permissions, and open ranges that the tool has seen start. References
// that mean nothing (garbage, things that are gone) are thrown in and must change nothing.
//
// One tool knows our extensions, the other is a tool as they are today.

#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "unit/mstx/fake_tool.h"

namespace plat::mstx::test {
namespace {

void check(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "fuzz_mstx: %s\n", what);
  std::abort();
}

struct ModelRegion {
  mstxDomainHandle_t domain;
  mstxMemHeapHandle_t heap;
  uint64_t start;
  uint64_t size;
  uint32_t permissions = ~0u;
};

// What a tool's books and the model have in common.
using RegionFacts = std::multiset<std::tuple<std::string, const void*, uint64_t, uint32_t, bool>>;

class Program {
 public:
  Program(const uint8_t* data, size_t size) : data_(data), end_(data + size) {
    ToolA::reset();
    ToolB::reset();
    ToolA::habits.extensions = true;
    platMstxRemember(1);
  }
  ~Program() {
    if (a_ != 0) platMstxDetach(a_);
    if (b_ != 0) platMstxDetach(b_);
    platMstxRemember(0);
  }

  void run() {
    while (data_ != end_) {
      step();
      if (a_ != 0) compare<ToolA>(ranges_of_a_);
      if (b_ != 0) compare<ToolB>(ranges_of_b_);
    }
  }

 private:
  uint8_t byte() { return data_ == end_ ? 0 : *data_++; }
  template <class Map>
  typename Map::iterator pick(Map& map) {
    auto found = map.begin();
    if (!map.empty()) std::advance(found, byte() % map.size());
    return found;
  }
  // A domain that lives, or the global one.
  mstxDomainHandle_t any_domain() {
    const auto found = pick(domains_);
    return found == domains_.end() || byte() % 4 == 0 ? nullptr : found->first;
  }

  void step() {
    switch (byte() % 16) {
      case 0:
        return toggle<ToolA>(a_, ranges_of_a_);
      case 1:
        return toggle<ToolB>(b_, ranges_of_b_);
      case 2:
        return create_domain();
      case 3:
        return destroy_domain();
      case 4:
        return add_heap();
      case 5:
        return drop_heap();
      case 6:
      case 7:
        return add_regions();
      case 8:
      case 9:
        return drop_region();
      case 10:
        return assign();
      case 11:
        return resize();
      case 12:
        return reset();
      case 13:
        return start_range();
      case 14:
        return end_range();
      default:
        return nonsense();
    }
  }

  template <class Tool>
  void toggle(platMstxToolId_t& id, std::map<mstxRangeId, int>& ranges) {
    if (id == 0) {
      Tool::books = {};
      check(platMstxAttachFunction(Tool::init, "tool", &id) == PLAT_MSTX_OK, "attach");
    } else {
      check(platMstxDetach(id) == PLAT_MSTX_OK, "detach");
      id = 0;
    }
    ranges.clear();
  }

  void create_domain() {
    const std::string name = "domain" + std::to_string(byte() % 4);
    const auto domain = mstxDomainCreateA(name.c_str());
    check(domain != nullptr, "a domain was refused");
    auto& entry = domains_[domain];
    check(entry.name.empty() || entry.name == name, "two names for one handle");
    entry.name = name;
    ++entry.references;
  }
  void destroy_domain() {
    const auto found = pick(domains_);
    if (found == domains_.end()) return;
    const auto domain = found->first;
    mstxDomainDestroy(domain);
    if (--found->second.references != 0) return;
    domains_.erase(found);
    std::erase_if(regions_, [&](const auto& region) {
      return region.second.domain == domain ||
             (region.second.heap != nullptr && heaps_.at(region.second.heap).first == domain);
    });
    std::erase_if(heaps_, [&](const auto& heap) { return heap.second.first == domain; });
    // A tool may keep what was in a domain that it was told is gone; ours do, so that the comparison would be
    // idle.
    forget_in_books<ToolA>();
    forget_in_books<ToolB>();
  }
  template <class Tool>
  void forget_in_books() {
    auto& books = Tool::books;
    std::erase_if(books.heaps, [&](const auto& heap) {
      return heap.second.domain != nullptr && books.domains.count(heap.second.domain) == 0;
    });
    std::erase_if(books.regions, [&](const auto& region) {
      return (region.second.domain != nullptr && books.domains.count(region.second.domain) == 0) ||
             (region.second.heap != nullptr && books.heaps.count(region.second.heap) == 0);
    });
  }

  void add_heap() {
    const auto domain = any_domain();
    const mstxMemVirtualRangeDesc_t range{0, reinterpret_cast<void*>(0x100000 * (1 + next_heap_++)), 0x10000};
    const mstxMemHeapDesc_t desc{MSTX_MEM_HEAP_USAGE_TYPE_SUB_ALLOCATOR, MSTX_MEM_TYPE_VIRTUAL_ADDRESS,
                                 &range};
    const auto heap = mstxMemHeapRegister(domain, &desc);
    check(heap != nullptr && heaps_.count(heap) == 0, "a heap was refused, or its handle is taken");
    heaps_[heap] = {domain, reinterpret_cast<uint64_t>(range.ptr)};
  }
  void drop_heap() {
    const auto found = pick(heaps_);
    if (found == heaps_.end()) return;
    mstxMemHeapUnregister(found->second.first, found->first);
    std::erase_if(regions_, [&](const auto& region) { return region.second.heap == found->first; });
    gone_heap_ = found->first;
    heaps_.erase(found);
  }

  void add_regions() {
    mstxDomainHandle_t domain = any_domain();
    mstxMemHeapHandle_t heap = nullptr;
    uint64_t base = 0x40000000;
    if (const auto found = pick(heaps_); found != heaps_.end()) {
      heap = found->first;
      domain = found->second.first;
      base = found->second.second;
    }
    const size_t count = byte() % 3 + 1;
    std::vector<mstxMemVirtualRangeDesc_t> ranges;
    // Starts are never used twice: which of two regions a pointer means is for another test.
    for (size_t i = 0; i < count; ++i)
      ranges.push_back({0, reinterpret_cast<void*>(base + 64 * next_region_++), 16u * (1 + byte() % 4)});
    std::vector<mstxMemRegionHandle_t> handles(count, nullptr);
    const mstxMemRegionsRegisterBatch_t batch{heap, MSTX_MEM_TYPE_VIRTUAL_ADDRESS, count, ranges.data(),
                                              handles.data()};
    mstxMemRegionsRegister(domain, &batch);
    for (size_t i = 0; i < count; ++i) {
      check(handles[i] != nullptr && regions_.count(handles[i]) == 0,
            "a region was refused, or its handle is taken");
      regions_[handles[i]] = {domain, heap, reinterpret_cast<uint64_t>(ranges[i].ptr), ranges[i].size, ~0u};
    }
  }
  mstxMemRegionRef_t ref_to(mstxMemRegionHandle_t handle, const ModelRegion& region) {
    mstxMemRegionRef_t ref{};
    if (byte() % 2 == 0) {
      ref.refType = MSTX_MEM_REGION_REF_TYPE_HANDLE;
      ref.handle = handle;
    } else {
      ref.refType = MSTX_MEM_REGION_REF_TYPE_POINTER;
      ref.pointer = reinterpret_cast<void*>(region.start);
    }
    return ref;
  }
  void drop_region() {
    const auto found = pick(regions_);
    if (found == regions_.end()) return;
    const mstxMemRegionRef_t ref = ref_to(found->first, found->second);
    const mstxMemRegionsUnregisterBatch_t batch{1, &ref};
    mstxMemRegionsUnregister(found->second.domain, &batch);
    regions_.erase(found);
  }
  void assign() {
    const auto found = pick(regions_);
    if (found == regions_.end()) return;
    const mstxMemPermissionsAssignRegionsDesc_t desc{byte() % 8u, ref_to(found->first, found->second)};
    const mstxMemPermissionsAssignBatch_t batch{1, &desc};
    mstxMemPermissionsAssign(found->second.domain, &batch);
    found->second.permissions = desc.flags;
  }
  void resize() {
    const auto found = pick(regions_);
    if (found == regions_.end()) return;
    const platMstxMemRegionSize_t entry{ref_to(found->first, found->second), 16u * (1 + byte() % 4)};
    const platMstxMemRegionsResizeBatch_t batch{sizeof(batch), 1, &entry};
    check(platMstxMemRegionsResize(found->second.domain, &batch) == PLAT_MSTX_OK, "resize");
    found->second.size = entry.size;
  }
  void reset() {
    const auto found = pick(heaps_);
    if (found == heaps_.end()) return;
    check(platMstxMemHeapReset(found->second.first, found->first) == PLAT_MSTX_OK, "reset");
    std::erase_if(regions_, [&](const auto& region) { return region.second.heap == found->first; });
  }

  void start_range() {
    const auto domain = any_domain();
    const mstxRangeId id = mstxDomainRangeStartA(domain, "r", nullptr);
    check((id != 0) == (a_ != 0 || b_ != 0), "a range without a tool, or none with one");
    if (id == 0) return;
    open_[id] = domain;
    if (a_ != 0) ranges_of_a_[id] = 1;
    if (b_ != 0) ranges_of_b_[id] = 1;
  }
  void end_range() {
    const auto found = pick(open_);
    if (found == open_.end()) return;
    // Its domain may be gone: then by the plain call, which needs none.
    if (found->second == nullptr || domains_.count(found->second) != 0)
      mstxDomainRangeEnd(found->second, found->first);
    else
      mstxRangeEnd(found->first);
    mstxRangeEnd(found->first);  // once too often
    ranges_of_a_.erase(found->first);
    ranges_of_b_.erase(found->first);
    open_.erase(found);
  }

  void nonsense() {
    const uint64_t garbage = uint64_t{byte()} << 56 | uint64_t{byte()} << 32 | byte() | 0x800000u;
    const auto domain = reinterpret_cast<mstxDomainHandle_t>(garbage | 0x40000000);
    mstxMemRegionRef_t ref{};
    ref.refType = MSTX_MEM_REGION_REF_TYPE_HANDLE;
    ref.handle = reinterpret_cast<mstxMemRegionHandle_t>(garbage);
    const mstxMemRegionsUnregisterBatch_t batch{1, &ref};
    switch (byte() % 6) {
      case 0:
        return mstxMemRegionsUnregister(nullptr, &batch);
      case 1:
        return mstxMemHeapUnregister(nullptr, reinterpret_cast<mstxMemHeapHandle_t>(garbage));
      case 2:
        return mstxDomainDestroy(domain);
      case 3:
        return mstxDomainMarkA(domain, nullptr, nullptr);
      case 4:
        return mstxRangeEnd(garbage);
      default:
        if (gone_heap_ != nullptr)
          check(platMstxMemHeapReset(nullptr, gone_heap_) == PLAT_MSTX_INVALID, "gone heap");
    }
  }

  template <class Tool>
  void compare(const std::map<mstxRangeId, int>& ranges) {
    const Books& books = Tool::books;
    for (const auto& mistake : books.mistakes) check(false, mistake.c_str());
    check(books.ranges.size() == ranges.size(), "open ranges differ");
    std::multiset<std::string> domain_names, told_names;
    for (const auto& [handle, domain] : domains_) domain_names.insert(domain.name);
    for (const auto& [handle, name] : books.domains) told_names.insert(name);
    check(domain_names == told_names, "domains differ");
    std::multiset<uint64_t> heaps, told_heaps;
    for (const auto& [handle, heap] : heaps_) heaps.insert(heap.second);
    for (const auto& [handle, heap] : books.heaps) told_heaps.insert(reinterpret_cast<uint64_t>(heap.start));
    check(heaps == told_heaps, "heaps differ");
    RegionFacts regions, told_regions;
    for (const auto& [handle, region] : regions_)
      regions.insert({region.domain == nullptr ? "" : domains_.at(region.domain).name,
                      reinterpret_cast<const void*>(region.start), region.size, region.permissions,
                      region.heap != nullptr});
    for (const auto& [handle, region] : books.regions)
      told_regions.insert({region.domain == nullptr ? "" : books.domains.at(region.domain), region.start,
                           region.size, region.permissions, region.heap != nullptr});
    check(regions == told_regions, "regions differ");
  }

  struct ModelDomain {
    std::string name;
    uint64_t references = 0;
  };
  const uint8_t* data_;
  const uint8_t* end_;
  platMstxToolId_t a_ = 0, b_ = 0;
  std::map<mstxDomainHandle_t, ModelDomain> domains_;
  std::map<mstxMemHeapHandle_t, std::pair<mstxDomainHandle_t, uint64_t>> heaps_;
  std::map<mstxMemRegionHandle_t, ModelRegion> regions_;
  std::map<mstxRangeId, mstxDomainHandle_t> open_;
  std::map<mstxRangeId, int> ranges_of_a_, ranges_of_b_;
  mstxMemHeapHandle_t gone_heap_ = nullptr;
  uint64_t next_heap_ = 0, next_region_ = 0;
};

}  // namespace
}  // namespace plat::mstx::test

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  plat::mstx::test::Program(data, size).run();
  return 0;
}
