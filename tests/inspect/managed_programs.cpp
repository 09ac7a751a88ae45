// SPDX-License-Identifier: Apache-2.0
// Managed memory and reductions; blocks of pools that are exported or registered.
#include "inspect/program.h"

namespace programs {

namespace {

constexpr size_t kPage = 2 * kMiB;
constexpr size_t kSize = 4096;

char* managed(size_t size = kPage) {
  void* memory = nullptr;
  MUST(aclrtMemAllocManaged(&memory, size, ACL_RT_MEM_ATTACH_GLOBAL));
  return static_cast<char*>(memory);
}

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
    MUST(aclrtSynchronizeDevice());
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

// A pool over memory, with one block at an offset.
struct OneBlock {
  char* memory;
  mstxMemHeapHandle_t pool;
  char* start;

  OneBlock(char* from, size_t size, size_t offset, size_t block_size)
      : memory(from), pool(heap(from, size)), start(from + offset) {
    region(pool, start, block_size);
  }
  ~OneBlock() { end_heap(pool); }
};

void export_block(size_t offset) {
  Device device;
  char* const memory = block(4 * kMiB);
  {
    const OneBlock one(memory, 4 * kMiB, offset, kSize);
    char key[65] = "";
    const int code = aclrtIpcMemGetExportKey(one.start, kSize, key, sizeof key,
                                             ACL_RT_IPC_MEM_EXPORT_FLAG_DISABLE_PID_VALIDATION);
    if (code == 0) MUST(aclrtIpcMemClose(key));
  }
  MUST(aclrtFree(memory));
}

void register_block(size_t offset) {
  Device device;
  void* memory = nullptr;
  MUST(aclrtMallocHost(&memory, 4 * kSize));
  {
    const OneBlock one(static_cast<char*>(memory), 4 * kSize, offset, kSize);
    void* view = nullptr;
    if (aclrtHostRegister(one.start, kSize, ACL_HOST_REGISTER_MAPPED, &view) == 0)
      MUST(aclrtHostUnregister(one.start));
  }
  MUST(aclrtFreeHost(memory));
}

}  // namespace

void add_managed_programs(Programs& all) {
  all["leak_managed"] = [] {
    Device device;
    managed();
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
    MUST(aclrtFree(memory));
    aclrtSynchronizeStream(stream);  // tells of the prefetch, if that came too late
    MUST(aclrtDestroyStream(stream));
  };
  all["managed_freed"] = [] {
    Device device;
    char* const memory = managed();
    MUST(aclrtFree(memory));
    aclrtMemset(memory, kSize, 0, kSize);
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
    reduction.read_sum();
  };
  all["race_reduce_reads"] = [] {
    const Reduction reduction;
    MUST(reduction.reduce());
    MUST(aclrtMemsetAsync(reduction.part, kSize, 0, kSize, reduction.second));
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
    reduction.reduce(2 * kSize);
  };
  all["reduce_unwritten"] = [] {
    const Reduction reduction(false);
    MUST(reduction.reduce());
    MUST(aclrtSynchronizeStream(reduction.first));
    MUST(read(reduction.sum, kSize));
  };
  all["reduce_written"] = [] {
    const Reduction reduction;
    MUST(reduction.reduce());
    MUST(aclrtSynchronizeStream(reduction.first));
    MUST(read(reduction.sum, kSize));
  };
  all["rule_page_start"] = [] { export_block(kSize); };
  all["rule_page_start_host"] = [] { register_block(64); };
  all["block_at_page"] = [] {
    export_block(0);
    register_block(kSize);
  };
}

}  // namespace programs
