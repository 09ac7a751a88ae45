// SPDX-License-Identifier: Apache-2.0
// The clients as they are: each tells of its pool in its own way, over real device memory, and once with a
// mistake in the program that uses it.
#include <filesystem>
#include <sstream>

#include "inspect/program.h"

namespace programs {

namespace {

enum class News { BeforeRegion, AfterRegion };

// Pools that tell of every block by itself, in a domain made anew each time, with a heap as news of a total
// and with the fields unset that they do not need. The one difference is whether the news come first.
struct CachingPool {
  const char* domain_name;
  News news = News::BeforeRegion;
  uint64_t total = 0;

  void take(const void* start, uint64_t size) {
    const mstxDomainHandle_t domain = mstxDomainCreateA(domain_name);
    total += size;
    if (news == News::BeforeRegion) tell_total(domain, start);
    mstxMemVirtualRangeDesc_t range = {0, start, size};
    mstxMemRegionsRegisterBatch_t batch;
    batch.regionCount = 1;
    batch.regionDescArray = &range;
    mstxMemRegionsRegister(domain, &batch);
    if (news == News::AfterRegion) tell_total(domain, start);
  }
  void give(const void* start, uint64_t size) {
    const mstxDomainHandle_t domain = mstxDomainCreateA(domain_name);
    total -= size;
    unregister_at(start, domain);
    tell_total(domain, start);
  }

 private:
  void tell_total(mstxDomainHandle_t domain, const void* start) const {
    mstxMemVirtualRangeDesc_t range = {0, start, total};
    mstxMemHeapDesc_t desc;
    desc.typeSpecificDesc = &range;
    mstxMemHeapRegister(domain, &desc);
  }
};

// Blocks that come, are used and go, some at addresses that others had before.
void use(CachingPool pool) {
  Device device;
  char* const memory = block(4096);
  for (int round = 0; round < 3; ++round) {
    pool.take(memory, 512);
    pool.take(memory + 512, 1024);
    MUST(write(memory, 512));
    MUST(write(memory + 512, 1024));
    MUST(read(memory, 512));
    pool.give(memory, 512);
    pool.give(memory + 512, 1024);
  }
  MUST(aclrtFree(memory));
}

void use_after(CachingPool pool) {
  Device device;
  char* const memory = block(4096);
  pool.take(memory, 512);
  pool.give(memory, 512);
  write(memory, 64);
  MUST(aclrtFree(memory));
}

// One heap for the workspace, one batch of regions a step, handles, everything set.
void workspace(size_t written) {
  Device device;
  char* const memory = block(4096);
  const mstxDomainHandle_t domain = mstxDomainCreateA("atb");
  const auto handle = heap(memory, 4096, domain);
  const mstxMemVirtualRangeDesc_t ranges[2] = {{0, memory, 512}, {0, memory + 1024, 512}};
  mstxMemRegionHandle_t regions[2] = {};
  const mstxMemRegionsRegisterBatch_t batch = {handle, MSTX_MEM_TYPE_VIRTUAL_ADDRESS, 2, ranges, regions};
  mstxMemRegionsRegister(domain, &batch);
  write(memory, written);
  write(memory + 1024, 512);
  read(memory + 1024, 512);
  const mstxMemRegionRef_t refs[2] = {mstx_words::by_handle(regions[0]), mstx_words::by_handle(regions[1])};
  const mstxMemRegionsUnregisterBatch_t back = {2, refs};
  mstxMemRegionsUnregister(domain, &back);
  mstxMemHeapUnregister(domain, handle);
  MUST(aclrtFree(memory));
}

// Regions of no heap, which say SHARED and nothing else.
void shared(size_t written) {
  Device device;
  char* const memory = block(4096);
  const mstxDomainHandle_t domain = mstxDomainCreateA("shmem");
  const auto handle = region(nullptr, memory, 512, domain);
  allow(handle, MSTX_MEM_PERMISSIONS_REGION_FLAGS_SHARED, domain);
  write(memory, written);
  read(memory, 512);
  unregister(handle, domain);
  MUST(aclrtFree(memory));
}

// As torch_npu decides whether anybody wants to hear of its pool.
bool gate_is_open() {
  const char* const preloaded = std::getenv("LD_PRELOAD");
  std::istringstream entries(preloaded != nullptr ? preloaded : "");
  for (std::string entry; std::getline(entries, entry, ':');) {
    std::error_code error;
    const auto file = std::filesystem::canonical(entry, error);
    if (!error && file.filename() == "libascend_kernel_hook.so") return true;
  }
  return false;
}

}  // namespace

void add_dialect_programs(Programs& all) {
  all["dialect_caching"] = [] { use({"ptaCaching"}); };
  all["dialect_caching_freed"] = [] { use_after({"ptaCaching"}); };
  all["dialect_caching_gated"] = [] {
    if (gate_is_open()) use_after({"ptaCaching"});
  };
  all["dialect_pool_workspace"] = [] { use({"ptaWorkspace"}); };
  all["dialect_pool_workspace_freed"] = [] { use_after({"ptaWorkspace"}); };
  all["dialect_mindspore"] = [] { use({"mindsporeMemPool", News::AfterRegion}); };
  all["dialect_mindspore_freed"] = [] { use_after({"mindsporeMemPool", News::AfterRegion}); };
  all["dialect_workspace"] = [] { workspace(512); };
  all["dialect_workspace_past_end"] = [] { workspace(600); };
  all["dialect_shared"] = [] { shared(512); };
  all["dialect_shared_past_end"] = [] { shared(600); };
}

}  // namespace programs
