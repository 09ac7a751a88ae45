// SPDX-License-Identifier: Apache-2.0
// Managed memory and reductions; blocks of pools that are exported or registered.
#include "inspect/program.h"

namespace programs {

namespace {

// A huge page, 2 MiB.
constexpr size_t kPage = 2 * kMiB;
// 4 KiB.
constexpr size_t kSize = 4096;

// Managed memory, by aclrtMemAllocManaged.
char* managed(size_t size = kPage) {
  void* memory = nullptr;
  MUST(aclrtMemAllocManaged(&memory, size, ACL_RT_MEM_ATTACH_GLOBAL));
  return static_cast<char*>(memory);
}

// To device 0, by aclrtMemManagedPrefetchAsync.
void prefetch(const char* memory, size_t size, aclrtStream stream) {
  MUST(aclrtMemManagedPrefetchAsync(memory, size, {ACL_MEM_LOCATIONTYPE_DEVICE, 0}, 0, stream));
}

// Two blocks and two streams for reductions.
struct Reduction {
  Device device;
  aclrtStream first = nullptr, second = nullptr;
  aclrtEvent event = nullptr;
  char *sum, *part, *other;

  explicit Reduction(bool sum_is_written = true)
      : sum(block(kSize, sum_is_written)), part(block(kSize)), other(block(kSize)) {
    MUST(aclrtCreateStream(&first));
    MUST(aclrtCreateStream(&second));
    MUST(aclrtCreateEvent(&event));
  }
  ~Reduction() {
    aclrtSynchronizeDevice();  // tells of the task that failed, where one was planted
    for (char* memory : {sum, part, other}) MUST(aclrtFree(memory));
    MUST(aclrtDestroyEvent(event));
    MUST(aclrtDestroyStream(first));
    MUST(aclrtDestroyStream(second));
  }
  int reduce(size_t size = kSize) const {
    return aclrtReduceAsync(sum, part, size, ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM, ACL_INT32, first, nullptr);
  }
  void read_sum() const {
    MUST(aclrtMemcpyAsync(other, kSize, sum, kSize, ACL_MEMCPY_DEVICE_TO_DEVICE, second));
  }
};

}  // namespace

void add_managed_programs(Programs& all) {
  all["leak_managed"] = [] {
    Device device;
    void* memory = nullptr;
    MUST(PLANTED(aclrtMemAllocManaged(&memory, kPage, ACL_RT_MEM_ATTACH_GLOBAL)));
  };
  all["managed_both_sides"] = [] {
    Device device;
    aclrtStream stream = nullptr;
    MUST(aclrtCreateStream(&stream));
    char* const memory = managed(4 * kMiB);
    char* const other = block(kSize);
    memory[0] = 1;  // by the host
    MUST(aclrtMemManagedAdvise(memory, kPage, ACL_MEM_ADVISE_SET_READ_MOSTLY, {}));
    prefetch(memory, 4 * kMiB, stream);
    const void* parts[] = {memory, memory + kPage};
    size_t sizes[] = {kPage, kPage}, firsts[] = {0, 1};
    aclrtMemManagedLocation places[] = {{ACL_MEM_LOCATIONTYPE_HOST, 0}, {ACL_MEM_LOCATIONTYPE_DEVICE, 0}};
    MUST(aclrtMemManagedPrefetchBatchAsync(parts, sizes, 2, places, firsts, 2, 0, stream));
    MUST(aclrtMemcpyAsync(other, kSize, memory, kSize, ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
    MUST(aclrtMemcpyAsync(memory, kSize, other, kSize, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    MUST(aclrtSynchronizeStream(stream));
    MUST(read(memory, kSize));
    MUST(aclrtFree(memory));
    MUST(aclrtFree(other));
    MUST(aclrtDestroyStream(stream));
  };
  all["managed_free_in_flight"] = [] {
    Device device;
    aclrtStream stream = nullptr;
    MUST(aclrtCreateStream(&stream));
    char* const memory = managed();
    prefetch(memory, kPage, stream);
    MUST(PLANTED(aclrtFree(memory)));
    aclrtSynchronizeStream(stream);  // tells of the prefetch, if that came too late
    MUST(aclrtDestroyStream(stream));
  };
  all["managed_freed"] = [] {
    Device device;
    char* const memory = managed();
    MUST(aclrtFree(memory));
    PLANTED(aclrtMemset(memory, kSize, 0, kSize));
  };
  // Only asked for: nothing is there that it could fail for.
  all["peer_map"] = [] {
    Device device;
    char* const memory = block(kSize);
    aclrtMemP2PMap(memory, kSize, 0, 0);
    MUST(aclrtFree(memory));
  };
  all["race_reduce_writes"] = [] {
    const Reduction reduction;
    MUST(reduction.reduce());
    PLANTED(reduction.read_sum());
  };
  all["race_reduce_reads"] = [] {
    const Reduction reduction;
    MUST(reduction.reduce());
    MUST(PLANTED(aclrtMemsetAsync(reduction.part, kSize, 0, kSize, reduction.second)));
  };
  all["ordered_reduce"] = [] {
    const Reduction reduction;
    MUST(reduction.reduce());
    MUST(aclrtRecordEvent(reduction.event, reduction.first));
    MUST(aclrtStreamWaitEvent(reduction.second, reduction.event));
    reduction.read_sum();
    MUST(aclrtMemsetAsync(reduction.part, kSize, 0, kSize, reduction.second));
  };
  all["reduce_past_end"] = [] {
    const Reduction reduction;
    PLANTED(reduction.reduce(2 * kSize));
  };
  all["reduce_unwritten"] = [] {
    const Reduction reduction(false);
    MUST(PLANTED(reduction.reduce()));
    MUST(aclrtSynchronizeStream(reduction.first));
    MUST(read(reduction.sum, kSize));
  };
  all["reduce_written"] = [] {
    const Reduction reduction;
    MUST(reduction.reduce());
    MUST(aclrtSynchronizeStream(reduction.first));
    MUST(read(reduction.sum, kSize));
  };
  all["rule_page_start"] = [] {
    Device device;
    char* const memory = block(4 * kMiB);
    const auto pool = heap(memory, 4 * kMiB);
    region(pool, memory + kSize, kSize);
    char key[65] = "";
    PLANTED(aclrtIpcMemGetExportKey(memory + kSize, kSize, key, sizeof key, 0));
    end_heap(pool);
    MUST(aclrtFree(memory));
  };
  all["rule_page_start_host"] = [] {
    Device device;
    void* memory = nullptr;
    MUST(aclrtMallocHost(&memory, 4 * kSize));
    const auto pool = heap(memory, 4 * kSize);
    char* const start = static_cast<char*>(memory) + 64;
    region(pool, start, kSize);
    void* view = nullptr;
    PLANTED(aclrtHostRegister(start, kSize, ACL_HOST_REGISTER_MAPPED, &view));
    end_heap(pool);
    MUST(aclrtFreeHost(memory));
  };
  all["block_at_page"] = [] {
    Device device;
    char* const memory = block(4 * kMiB);
    const auto pool = heap(memory, 4 * kMiB);
    region(pool, memory + kPage, kSize);
    char key[65] = "";
    MUST(aclrtIpcMemGetExportKey(memory + kPage, kSize, key, sizeof key, 0));
    MUST(aclrtIpcMemClose(key));
    end_heap(pool);
    MUST(aclrtFree(memory));
  };
}

}  // namespace programs
