// SPDX-License-Identifier: Apache-2.0
// Heaps and regions: the pool scenarios, and misuse of mstx.
#include "inspect/program.h"

namespace programs {

namespace {

// A block with a heap over it, which goes in order at the end.
struct Pool {
  Device device;
  char* memory = block(4096);
  mstxMemHeapHandle_t handle = heap(memory, 4096);
  ~Pool() {
    if (handle != nullptr) end_heap(handle);
    MUST(aclrtFree(memory));
  }
};

// With one region across the seam.
void use_heap_over_two_mappings(void (*use)(const Mapped& mapped)) {
  Device device;
  Mapped mapped(2);
  const auto handle = heap(mapped.address, 2 * Mapped::kPage);
  region(handle, mapped.at(Mapped::kPage - 4096), 8192);
  use(mapped);
  end_heap(handle);
  mapped.release();
}

// Of 4 KiB each.
void register_two_heaps(size_t distance) {
  Device device;
  char* const memory = block(8192);
  const auto first = heap(memory, 4096);
  const auto second = heap(memory + distance, 4096);
  mstxMemHeapUnregister(nullptr, second);
  mstxMemHeapUnregister(nullptr, first);
  MUST(aclrtFree(memory));
}

}  // namespace

void add_pool_programs(Programs& all) {
  all["s1_no_region"] = [] {
    Pool pool;
    read(pool.memory, 64);
  };
  all["s2_region_end"] = [] {
    Pool pool;
    region(pool.handle, pool.memory, 256);
    write(pool.memory, 256);
    read(pool.memory, 256);
    write(pool.memory + 192, 128);
  };
  all["s3_neighbour"] = [] {
    Pool pool;
    region(pool.handle, pool.memory, 256);
    region(pool.handle, pool.memory + 256, 256);
    write(pool.memory + 192, 128);
  };
  all["s4_freed_region"] = [] {
    Pool pool;
    const auto handle = region(pool.handle, pool.memory, 256);
    write(pool.memory, 256);
    unregister(handle);
    write(pool.memory, 64);
  };
  all["s5_unregister_twice"] = [] {
    Pool pool;
    const auto handle = region(pool.handle, pool.memory, 256);
    unregister(handle);
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
    mstxMemHeapUnregister(nullptr, pool.handle);
  };
  all["s7_heap_unallocated"] = [] {
    static char never[4096];
    const auto handle = heap(never, sizeof never);
    mstxMemHeapUnregister(nullptr, handle);
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
    write(pool.memory, 64);
  };
  all["s9_none"] = [] {
    Pool pool;
    const auto handle = region(pool.handle, pool.memory, 256);
    write(pool.memory, 256);
    allow(handle, MSTX_MEM_PERMISSIONS_REGION_FLAGS_NONE);
    read(pool.memory, 64);
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
    read(pool.memory, 64);
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
    read(memory, 64);
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
  all["region_outside"] = [] {
    Pool pool;
    region(pool.handle, pool.memory + 4000, 256);
  };
  all["region_overlap"] = [] {
    Pool pool;
    const auto first = region(pool.handle, pool.memory, 256);
    const auto second = region(pool.handle, pool.memory + 128, 256);
    MUST(write(pool.memory, 256));  // nothing more is said about either
    MUST(read(pool.memory + 128, 256));
    unregister(first);
    MUST(write(pool.memory + 128, 256));
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
    mstx_words::unregister(mstx_words::by_handle(handle), other);
    unregister(handle);
    mstxDomainDestroy(other);
  };
  all["heap_of_other_domain"] = [] {
    Pool pool;
    const auto other = mstxDomainCreateA("other");
    mstxMemHeapUnregister(other, pool.handle);
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
  all["heap_twice"] = [] { register_two_heaps(0); };
  all["range_open"] = [] {
    mstxRangeStartA("step", nullptr);
    mstxRangeEnd(mstxRangeStartA("inner", nullptr));
  };
  all["range_ended"] = [] { mstxRangeEnd(mstxRangeStartA("step", nullptr)); };
  all["heap_overlap"] = [] { register_two_heaps(2048); };
  all["heaps_touch"] = [] { register_two_heaps(4096); };
  all["rule_block_start"] = [] {
    Pool pool;
    region(pool.handle, pool.memory + 32, 64);
  };
  all["rule_block_room"] = [] {
    Pool pool;
    region(pool.handle, pool.memory, 128);
    region(pool.handle, pool.memory + 128, 64);
  };
  all["rule_block_room_downwards"] = [] {
    Pool pool;
    region(pool.handle, pool.memory + 128, 64);
    region(pool.handle, pool.memory, 128);
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
    unregister(reinterpret_cast<mstxMemRegionHandle_t>(pool.memory));  // a pointer that says it is a handle
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
    mstxMemRegionsRegister(nullptr, &batch);
  };
  all["heap_memory_goes"] = [] {
    Device device;
    char* const memory = block(4096);
    heap(memory, 4096);
    MUST(aclrtFree(memory));
  };
}

}  // namespace programs
