// SPDX-License-Identifier: Apache-2.0
// The memory calls as the known clients make them, unset fields and all: for memory checkers, which see what
// is read.

#include <cstdint>
#include <initializer_list>

#include "mstx/ms_tools_ext_mem.h"
#include "support/mstx_words.h"

namespace {

// Leaves what it wrote on the stack, so that a field that is not set holds something.
__attribute__((noinline)) void litter() {
  volatile char space[512];
  for (size_t i = 0; i < sizeof(space); ++i) space[i] = static_cast<char>(i);
}

// A caching allocator: at every block that moves, the domain anew, a heap that says how much the pool has, a
// region.
__attribute__((noinline)) void caching(const char* name, const void* block, uint64_t size, uint64_t total,
                                       bool take) {
  const mstxDomainHandle_t domain = mstxDomainCreateA(name);
  mstxMemVirtualRangeDesc_t pool = {0, block, total};
  mstxMemHeapDesc_t heap;  // usage and type unset
  heap.typeSpecificDesc = &pool;
  mstxMemHeapRegister(domain, &heap);
  if (take) {
    mstxMemVirtualRangeDesc_t range = {0, block, size};
    mstxMemRegionsRegisterBatch_t batch;  // heap, regionType and regionHandleArrayOut unset
    batch.regionCount = 1;
    batch.regionDescArray = &range;
    mstxMemRegionsRegister(domain, &batch);
  } else {
    mstx_words::unregister(mstx_words::by_pointer(block), domain);
  }
}

// A workspace: one heap, one batch a step, handles.
void workspace(const void* memory) {
  const mstxDomainHandle_t domain = mstxDomainCreateA("atb");
  const mstxMemHeapHandle_t heap = mstx_words::heap(memory, 1024, domain);
  const mstxMemVirtualRangeDesc_t ranges[2] = {{0, memory, 64},
                                               {0, static_cast<const char*>(memory) + 64, 64}};
  mstxMemRegionHandle_t handles[2];
  const mstxMemRegionsRegisterBatch_t batch = {heap, MSTX_MEM_TYPE_VIRTUAL_ADDRESS, 2, ranges, handles};
  mstxMemRegionsRegister(domain, &batch);
  if (heap == nullptr) return;  // nobody there: the handles were not set
  const mstxMemRegionRef_t refs[2] = {mstx_words::by_handle(handles[0]), mstx_words::by_handle(handles[1])};
  const mstxMemRegionsUnregisterBatch_t unregister = {2, refs};
  mstxMemRegionsUnregister(domain, &unregister);
  mstxMemHeapUnregister(domain, heap);
}

// Memory shared between devices: regions of no heap, by handle, marked as shared and nothing else.
void shared(const void* memory) {
  const mstxDomainHandle_t domain = mstxDomainCreateA("shmem");
  const mstxMemRegionRef_t ref = mstx_words::by_handle(mstx_words::region(nullptr, memory, 256, domain));
  mstx_words::allow(ref, MSTX_MEM_PERMISSIONS_REGION_FLAGS_SHARED, domain);
  mstx_words::unregister(ref, domain);
}

}  // namespace

int main() {
  static const char memory[1024] = {};
  for (int round = 0; round < 3; ++round) {
    for (const char* name : {"ptaCaching", "ptaWorkspace", "mindsporeMemPool"}) {
      litter();
      caching(name, memory, 64, 64, true);
      litter();
      caching(name, memory, 64, 0, false);
    }
    workspace(memory);
    shared(memory);
  }
  return 0;
}
