// SPDX-License-Identifier: Apache-2.0
// One forgotten thing of each kind, and growth from mark to mark.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "inspect/program.h"

namespace programs {

namespace {

struct alignas(4096) Page {
  char bytes[4096];
};

aclrtMemPool make_pool() {
  aclrtMemPool pool = nullptr;
  aclrtMemPoolProps props{};
  props.location = {0, ACL_MEM_LOCATION_TYPE_DEVICE};
  props.maxSize = 64 * kMiB;
  MUST(aclrtMemPoolCreate(&pool, &props));
  return pool;
}

}  // namespace

void add_leak_programs(Programs& all) {
  all["leak_device_block"] = [] {
    Device device;
    for (int i = 0; i < 3; ++i) block(4096);
  };
  all["leak_host_block"] = [] {
    Device device;
    void* host = nullptr;
    MUST(aclrtMallocHost(&host, 4096));
  };
  all["leak_mapping"] = [] {
    Device device;
    Mapped mapped(1);
  };
  all["leak_physical"] = [] {
    Device device;
    Mapped mapped(1);
    MUST(aclrtUnmapMem(mapped.at(0)));
    MUST(aclrtReleaseMemAddress(mapped.address));
  };
  all["leak_retained"] = [] {
    Device device;
    Mapped mapped(1);
    aclrtDrvMemHandle again = nullptr;
    MUST(aclrtMemRetainAllocationHandle(mapped.address, &again));
    mapped.release();
  };
  all["leak_reservation"] = [] {
    Device device;
    Mapped mapped(1);
    MUST(aclrtUnmapMem(mapped.at(0)));
    MUST(aclrtFreePhysical(mapped.handles[0]));
  };
  all["leak_stream"] = [] {
    Device device;
    aclrtStream stream = nullptr;
    MUST(aclrtCreateStream(&stream));
  };
  all["leak_event"] = [] {
    Device device;
    aclrtEvent event = nullptr;
    MUST(aclrtCreateEvent(&event));
  };
  all["leak_context"] = [] {
    Device device;
    aclrtContext context = nullptr;
    MUST(aclrtCreateContext(&context, 0));
  };
  all["leak_pool"] = [] {
    Device device;
    make_pool();
  };
  all["leak_pool_block"] = [] {
    Device device;
    const aclrtMemPool pool = make_pool();
    void* memory = nullptr;
    aclrtStream stream = nullptr;
    MUST(aclrtCreateStream(&stream));
    MUST(aclrtMemPoolMallocAsync(&memory, 2 * kMiB, pool, stream));
    MUST(aclrtDestroyStream(stream));
    if (aclrtMemPoolDestroy(pool) != 0) std::exit(97);
  };
  all["leak_host_registration"] = [] {
    Device device;
    static Page host;
    void* view = nullptr;
    MUST(aclrtHostRegister(host.bytes, sizeof host.bytes, ACL_HOST_REGISTER_MAPPED, &view));
  };
  all["leak_heap"] = [] {
    Device device;
    heap(block(4096), 4096);
  };
  // A pool that lives as long as its process.
  all["heap_lives_on"] = [] {
    MUST(aclInit(nullptr));
    MUST(aclrtSetDevice(0));
    static Mapped mapped(2);
    unregister(region(heap(mapped.address, 2 * Mapped::kPage), mapped.address, 256));
  };
  all["leak_pool_region"] = [] {
    Device device;
    char* const memory = block(4096);
    const auto pool = heap(memory, 4096);
    region(pool, memory, 256);
    mstxMemHeapUnregister(nullptr, pool);
    MUST(aclrtFree(memory));
  };
  all["all_given_back"] = [] {
    Device device;
    static Page host;
    void* view = nullptr;
    void* memory = nullptr;
    aclrtContext context = nullptr;
    aclrtStream stream = nullptr;
    aclrtEvent event = nullptr;
    MUST(aclrtCreateContext(&context, 0));
    MUST(aclrtCreateStream(&stream));
    MUST(aclrtCreateEvent(&event));
    const aclrtMemPool pool = make_pool();
    MUST(aclrtMemPoolMallocAsync(&memory, 2 * kMiB, pool, stream));
    MUST(aclrtMemPoolFreeAsync(memory, stream));
    MUST(aclrtSynchronizeStream(stream));
    MUST(aclrtMemPoolDestroy(pool));
    MUST(aclrtHostRegister(host.bytes, sizeof host.bytes, ACL_HOST_REGISTER_MAPPED, &view));
    MUST(aclrtHostUnregister(host.bytes));
    MUST(aclrtMallocHost(&memory, 4096));
    MUST(aclrtFreeHost(memory));
    char* const device_block = block(4096);
    const auto handle = heap(device_block, 4096);
    unregister(region(handle, device_block, 64));
    mstxMemHeapUnregister(nullptr, handle);
    MUST(aclrtFree(device_block));
    Mapped mapped(2);
    mapped.release();
    MUST(aclrtDestroyEvent(event));
    MUST(aclrtDestroyStream(stream));
    MUST(aclrtDestroyContext(context));
  };
  all["leak_region"] = [] {
    Device device;
    char* const memory = block(4096);
    region(nullptr, memory, 64);
    MUST(aclrtFree(memory));
  };
  all["leak_without_reset"] = [] {
    MUST(aclInit(nullptr));
    MUST(aclrtSetDevice(0));
    block(4096);
  };
  all["growth"] = [] {
    Device device;
    char* kept[6];
    for (auto& memory : kept) {
      memory = block(4096);
      mstxMarkA("step", nullptr);
    }
    for (auto* memory : kept) MUST(aclrtFree(memory));
  };
  // Two calls in one line have two stacks, which look the same.
  all["growth_in_turns"] = [] {
    Device device;
    char* kept[8];
    const auto take = [](char*& memory) {
      memory = block(4096);
      mstxMarkA("step", nullptr);
    };
    for (int i = 0; i < 8; i += 2) take(kept[i]), take(kept[i + 1]);
    for (auto* memory : kept) MUST(aclrtFree(memory));
  };
  all["no_growth"] = [] {
    Device device;
    for (int i = 0; i < 6; ++i) {
      char* const memory = block(4096);
      mstxMarkA("step", nullptr);
      MUST(aclrtFree(memory));
    }
  };
  all["killed"] = [] {
    MUST(aclInit(nullptr));
    MUST(aclrtSetDevice(0));
    char* const memory = block(4096);
    write(memory + 4000, 4096);
    kill(getpid(), SIGKILL);
  };
  all["forks"] = [] {
    Device device;
    char* const memory = block(4096);
    const pid_t child = fork();
    if (child == 0) {
      MUST(aclInit(nullptr));
      MUST(aclrtSetDevice(0));
      char* const mine = block(4096);
      write(mine + 4000, 4096);  // the child's mistake
      MUST(aclrtFree(mine));
      _exit(0);
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0) continue;
    MUST(aclrtFree(memory));
  };
}

}  // namespace programs
