// SPDX-License-Identifier: Apache-2.0
// Heaps and regions: the pool scenarios, and misuse of mstx.
#include "inspect/program.h"

namespace programs {

namespace {

// A device with a block of 4 KiB (memory), all of it written, and a heap over it (handle); both go in order
// at the end.
struct Pool {
  Device device;
  char* memory = block(4096);
  mstxMemHeapHandle_t handle = heap(memory, 4096);
  ~Pool() {
    if (handle != nullptr) end_heap(handle);
    MUST(aclrtFree(memory));
  }
};

// Two mappings of a page each with one heap over them, and a region of 8 KiB across the seam.
void use_heap_over_two_mappings(void (*use)(const Mapped& mapped)) {
  Device device;
  Mapped mapped(2);
  const auto handle = heap(mapped.address, 2 * Mapped::kPage);
  region(handle, mapped.at(Mapped::kPage - 4096), 8192);
  use(mapped);
  end_heap(handle);
  mapped.release();
}

}  // namespace

void add_pool_programs(Programs& all) {
  all["s1_no_region"] = [] {
    Pool pool;
    PLANTED(read(pool.memory, 64));
  };
  all["s1_in_region"] = [] {
    Pool pool;
    region(pool.handle, pool.memory, 64);
    MUST(write(pool.memory, 64));
    MUST(read(pool.memory, 64));
  };
  all["s2_region_end"] = [] {
    Pool pool;
    region(pool.handle, pool.memory, 256);
    write(pool.memory, 256);
    read(pool.memory, 256);
    PLANTED(write(pool.memory + 192, 128));
  };
  all["s3_neighbour"] = [] {
    Pool pool;
    region(pool.handle, pool.memory, 256);
    region(pool.handle, pool.memory + 256, 256);
    PLANTED(write(pool.memory + 192, 128));
  };
  all["s4_freed_region"] = [] {
    Pool pool;
    const auto handle = region(pool.handle, pool.memory, 256);
    write(pool.memory, 256);
    unregister(handle);
    PLANTED(write(pool.memory, 64));
  };
  all["s5_unregister_twice"] = [] {
    Pool pool;
    const auto handle = region(pool.handle, pool.memory, 256);
    unregister(handle);
    PLANTED(unregister(handle));
  };
  all["unregistered_once"] = [] {
    Pool pool;
    const auto handle = region(pool.handle, pool.memory, 256);
    unregister(handle);
  };
  all["s6_heap_gone"] = [] {
    Pool pool;
    mstxMemHeapUnregister(nullptr, pool.handle);
    pool.handle = nullptr;
    MUST(read(pool.memory, 4096));
  };
  all["s6b_heap_twice"] = [] {
    Pool pool;
    mstxMemHeapUnregister(nullptr, pool.handle);  // and once more by the pool
  };
  all["s7_heap_unallocated"] = [] {
    static char never[4096];
    const auto handle = PLANTED(heap(never, sizeof never));
    mstxMemHeapUnregister(nullptr, handle);
  };
  all["heap_over_block"] = [] {
    Device device;
    char* const memory = block(4096);
    const auto handle = heap(memory, 4096);
    mstxMemHeapUnregister(nullptr, handle);
    MUST(aclrtFree(memory));
  };
  all["s8_region_alone"] = [] {
    Device device;
    static char never[4096];
    const auto handle = region(nullptr, never, sizeof never);
    write(never, 64);
    unregister(handle);
  };
  all["s9_read_only"] = [] {
    Pool pool;
    const auto handle = region(pool.handle, pool.memory, 256);
    write(pool.memory, 256);
    allow(handle, MSTX_MEM_PERMISSIONS_REGION_FLAGS_READ);
    read(pool.memory, 256);
    PLANTED(write(pool.memory, 64));
  };
  all["s9_none"] = [] {
    Pool pool;
    const auto handle = region(pool.handle, pool.memory, 256);
    write(pool.memory, 256);
    allow(handle, MSTX_MEM_PERMISSIONS_REGION_FLAGS_NONE);
    PLANTED(read(pool.memory, 64));
  };
  all["s9_shared"] = [] {
    Pool pool;
    const auto handle = region(pool.handle, pool.memory, 256);
    allow(handle, MSTX_MEM_PERMISSIONS_REGION_FLAGS_SHARED);
    write(pool.memory, 256);
    read(pool.memory, 256);
  };
  all["s9_read_write_shared"] = [] {
    Pool pool;
    const auto handle = region(pool.handle, pool.memory, 256);
    allow(handle, MSTX_MEM_PERMISSIONS_REGION_FLAGS_READ | MSTX_MEM_PERMISSIONS_REGION_FLAGS_WRITE |
                      MSTX_MEM_PERMISSIONS_REGION_FLAGS_SHARED);
    write(pool.memory, 256);
    read(pool.memory, 256);
  };
  all["s10_left"] = [] {
    Device device;
    char* const memory = block(4096);
    region(heap(memory, 4096), memory, 256);
  };
  all["s11_reused"] = [] {
    Pool pool;
    const auto handle = region(pool.handle, pool.memory, 256);
    write(pool.memory, 256);
    unregister(handle);
    region(pool.handle, pool.memory, 128);
    PLANTED(read(pool.memory, 64));
  };
  all["s11_written_again"] = [] {
    Pool pool;
    const auto handle = region(pool.handle, pool.memory, 256);
    write(pool.memory, 256);
    unregister(handle);
    region(pool.handle, pool.memory, 128);
    write(pool.memory, 128);
    read(pool.memory, 128);
  };
  all["s12_fresh_region"] = [] {
    Device device;
    char* const memory = block(4096, false);
    const auto handle = heap(memory, 4096);
    region(handle, memory, 256);
    PLANTED(read(memory, 64));
    end_heap(handle);
    MUST(aclrtFree(memory));
  };
  all["s13_many_mappings"] = [] {
    use_heap_over_two_mappings([](const Mapped& mapped) {
      MUST(write(mapped.at(Mapped::kPage - 4096), 8192));
      MUST(read(mapped.at(Mapped::kPage - 64), 128));
    });
  };
  all["s13_outside"] = [] {
    use_heap_over_two_mappings([](const Mapped& mapped) { write(mapped.at(64), 64); });
  };
  // A pool that reserves ahead and backs what it needs: the heap is the reservation.
  all["heap_over_reservation"] = [] {
    Device device;
    Mapped mapped(2);
    mapped.unmap(1);
    const auto handle = heap(mapped.address, 2 * Mapped::kPage);
    const auto first = region(handle, mapped.address, 4096);
    MUST(write(mapped.address, 4096));
    mapped.map(1);
    const auto second = region(handle, mapped.at(Mapped::kPage), 4096);
    MUST(write(mapped.at(Mapped::kPage), 4096));
    unregister(second);
    mapped.unmap(1);
    MUST(read(mapped.address, 4096));
    unregister(first);
    mstxMemHeapUnregister(nullptr, handle);
    mapped.release();
  };
  all["heap_reservation_goes"] = [] {
    Device device;
    Mapped mapped(2);
    mapped.unmap(1);
    heap(mapped.address, 2 * Mapped::kPage);
    mapped.release();
  };
  all["heap_goes_first"] = [] {
    Device device;
    char* const memory = block(4096);
    const auto handle = heap(memory, 4096);
    unregister(region(handle, memory, 256));
    mstxMemHeapUnregister(nullptr, handle);
    MUST(aclrtFree(memory));
  };
  all["region_outside"] = [] {
    Pool pool;
    PLANTED(region(pool.handle, pool.memory + 4000, 256));
  };
  all["region_at_end"] = [] {
    Pool pool;
    region(pool.handle, pool.memory + 3840, 256);
  };
  all["region_overlap"] = [] {
    Pool pool;
    const auto first = region(pool.handle, pool.memory, 256);
    const auto second = PLANTED(region(pool.handle, pool.memory + 128, 256));
    MUST(write(pool.memory, 256));  // nothing more is said about either
    MUST(read(pool.memory + 128, 256));
    unregister(first);
    MUST(write(pool.memory + 128, 256));
    unregister(second);
  };
  all["regions_touch"] = [] {
    Pool pool;
    const auto first = region(pool.handle, pool.memory, 256);
    const auto second = region(pool.handle, pool.memory + 256, 256);
    MUST(write(pool.memory, 256));
    unregister(first);
    MUST(write(pool.memory + 256, 256));
    unregister(second);
  };
  all["region_twice"] = [] {
    Pool pool;
    mstx_words::region(pool.handle, pool.memory, 256);
    MUST(write(pool.memory, 256));
    mstx_words::region(pool.handle, pool.memory, 256);
    MUST(read(pool.memory, 256));
    unregister_at(pool.memory);
    MUST(read(pool.memory, 256));
    unregister_at(pool.memory);
  };
  all["region_of_other_domain"] = [] {
    Pool pool;
    const auto other = mstxDomainCreateA("other");
    const auto handle = region(pool.handle, pool.memory, 256);
    PLANTED(mstx_words::unregister(mstx_words::by_handle(handle), other));
    unregister(handle);
    mstxDomainDestroy(other);
  };
  all["heap_of_other_domain"] = [] {
    Pool pool;
    const auto other = mstxDomainCreateA("other");
    PLANTED(mstxMemHeapUnregister(other, pool.handle));
    pool.handle = nullptr;
    mstxDomainDestroy(other);
  };
  all["region_of_own_domain"] = [] {
    Device device;
    const auto own = mstxDomainCreateA("own");
    char* const memory = block(4096);
    const auto pool = heap(memory, 4096, own);
    unregister(region(pool, memory, 256, own), own);
    mstxMemHeapUnregister(own, pool);
    mstxDomainDestroy(own);
    MUST(aclrtFree(memory));
  };
  all["heap_twice"] = [] {
    Device device;
    char* const memory = block(8192);
    const auto first = heap(memory, 4096);
    const auto second = PLANTED(heap(memory, 4096));
    mstxMemHeapUnregister(nullptr, second);
    mstxMemHeapUnregister(nullptr, first);
    MUST(aclrtFree(memory));
  };
  all["range_open"] = [] {
    PLANTED(mstxRangeStartA("step", nullptr));
    mstxRangeEnd(mstxRangeStartA("inner", nullptr));
  };
  all["range_ended"] = [] { mstxRangeEnd(mstxRangeStartA("step", nullptr)); };
  all["heap_overlap"] = [] {
    Device device;
    char* const memory = block(8192);
    const auto first = heap(memory, 4096);
    const auto second = PLANTED(heap(memory + 2048, 4096));
    mstxMemHeapUnregister(nullptr, second);
    mstxMemHeapUnregister(nullptr, first);
    MUST(aclrtFree(memory));
  };
  all["heaps_touch"] = [] {
    Device device;
    char* const memory = block(8192);
    const auto first = heap(memory, 4096);
    const auto second = heap(memory + 4096, 4096);
    mstxMemHeapUnregister(nullptr, second);
    mstxMemHeapUnregister(nullptr, first);
    MUST(aclrtFree(memory));
  };
  all["rule_block_start"] = [] {
    Pool pool;
    PLANTED(region(pool.handle, pool.memory + 32, 64));
  };
  all["rule_block_room"] = [] {
    Pool pool;
    region(pool.handle, pool.memory, 128);
    PLANTED(region(pool.handle, pool.memory + 128, 64));
  };
  all["rule_block_room_downwards"] = [] {
    Pool pool;
    region(pool.handle, pool.memory + 128, 64);
    PLANTED(region(pool.handle, pool.memory, 128));
  };
  all["blocks_cut_well"] = [] {
    Pool pool;
    region(pool.handle, pool.memory, 96);
    region(pool.handle, pool.memory + 128, 64);
    region(pool.handle, pool.memory + 256, 64);
  };
  all["wrong_reference"] = [] {
    Pool pool;
    region(pool.handle, pool.memory, 256);
    PLANTED(
        unregister(reinterpret_cast<mstxMemRegionHandle_t>(pool.memory)));  // a pointer, said to be a handle
  };
  all["batch_unset"] = [] {
    Pool pool;
    const mstxMemVirtualRangeDesc_t range = {0, pool.memory, 64};
    mstxMemRegionsRegisterBatch_t batch = {};
    batch.heap = pool.handle;
    const int left_over = 0x5a5a;
    __builtin_memcpy(&batch.regionType, &left_over, sizeof left_over);
    batch.regionCount = 1;
    batch.regionDescArray = &range;
    PLANTED(mstxMemRegionsRegister(nullptr, &batch));
  };
  all["batch_set"] = [] {
    Pool pool;
    const mstxMemVirtualRangeDesc_t range = {0, pool.memory, 64};
    mstxMemRegionHandle_t handle = nullptr;
    mstxMemRegionsRegisterBatch_t batch = {};
    batch.heap = pool.handle;
    batch.regionType = MSTX_MEM_TYPE_VIRTUAL_ADDRESS;
    batch.regionCount = 1;
    batch.regionDescArray = &range;
    batch.regionHandleArrayOut = &handle;
    mstxMemRegionsRegister(nullptr, &batch);
    unregister(handle);
  };
  all["heap_memory_goes"] = [] {
    Device device;
    char* const memory = block(4096);
    heap(memory, 4096);
    MUST(PLANTED(aclrtFree(memory)));
  };
}

}  // namespace programs
