// SPDX-License-Identifier: Apache-2.0
// One forgotten thing of each kind, and growth from mark to mark.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "inspect/program.h"

namespace programs {

namespace {

// Host memory of one page, at the start of a page.
struct Page {
  alignas(4096) char bytes[4096];
};

// A stream-ordered pool of 64 MiB, by aclrtMemPoolCreate.
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
    for (int i = 0; i < 3; ++i) {
      void* memory = nullptr;
      MUST(PLANTED(aclrtMalloc(&memory, 4096, ACL_MEM_MALLOC_HUGE_FIRST)));
    }
  };
  all["device_blocks_freed"] = [] {
    Device device;
    for (int i = 0; i < 3; ++i) {
      void* memory = nullptr;
      MUST(aclrtMalloc(&memory, 4096, ACL_MEM_MALLOC_HUGE_FIRST));
      MUST(aclrtFree(memory));
    }
  };
  all["leak_host_block"] = [] {
    Device device;
    void* host = nullptr;
    MUST(PLANTED(aclrtMallocHost(&host, 4096)));
  };
  all["host_block_freed"] = [] {
    Device device;
    void* host = nullptr;
    MUST(aclrtMallocHost(&host, 4096));
    MUST(aclrtFreeHost(host));
  };
  all["leak_mapping"] = [] {
    Device device;
    void* address = nullptr;
    aclrtDrvMemHandle const handle = physical();
    MUST(aclrtReserveMemAddress(&address, 2 * kMiB, 0, nullptr, 0));
    MUST(PLANTED(aclrtMapMem(address, 2 * kMiB, 0, handle, 0)));
  };
  all["mapping_removed"] = [] {
    Device device;
    void* address = nullptr;
    aclrtDrvMemHandle const handle = physical();
    MUST(aclrtReserveMemAddress(&address, 2 * kMiB, 0, nullptr, 0));
    MUST(aclrtMapMem(address, 2 * kMiB, 0, handle, 0));
    MUST(aclrtUnmapMem(address));
    MUST(aclrtFreePhysical(handle));
    MUST(aclrtReleaseMemAddress(address));
  };
  all["leak_physical"] = [] {
    Device device;
    void* address = nullptr;
    aclrtDrvMemHandle const handle = PLANTED(physical());
    MUST(aclrtReserveMemAddress(&address, 2 * kMiB, 0, nullptr, 0));
    MUST(aclrtMapMem(address, 2 * kMiB, 0, handle, 0));
    MUST(aclrtUnmapMem(address));
    MUST(aclrtReleaseMemAddress(address));
  };
  all["leak_retained"] = [] {
    Device device;
    Mapped mapped(1);
    aclrtDrvMemHandle again = nullptr;
    MUST(PLANTED(aclrtMemRetainAllocationHandle(mapped.address, &again)));
    mapped.release();
  };
  all["retained_and_freed"] = [] {
    Device device;
    void* address = nullptr;
    aclrtDrvMemHandle const handle = physical();
    aclrtDrvMemHandle again = nullptr;
    MUST(aclrtReserveMemAddress(&address, 2 * kMiB, 0, nullptr, 0));
    MUST(aclrtMapMem(address, 2 * kMiB, 0, handle, 0));
    MUST(aclrtMemRetainAllocationHandle(address, &again));
    MUST(aclrtUnmapMem(address));
    MUST(aclrtReleaseMemAddress(address));
    MUST(aclrtFreePhysical(handle));
    MUST(aclrtFreePhysical(again));  // retained: the second time is its own
  };
  all["leak_reservation"] = [] {
    Device device;
    void* address = nullptr;
    aclrtDrvMemHandle const handle = physical();
    MUST(PLANTED(aclrtReserveMemAddress(&address, 2 * kMiB, 0, nullptr, 0)));
    MUST(aclrtMapMem(address, 2 * kMiB, 0, handle, 0));
    MUST(aclrtUnmapMem(address));
    MUST(aclrtFreePhysical(handle));
  };
  all["reservation_released"] = [] {
    Device device;
    void* address = nullptr;
    MUST(aclrtReserveMemAddress(&address, 2 * kMiB, 0, nullptr, 0));
    MUST(aclrtReleaseMemAddress(address));
  };
  all["leak_stream"] = [] {
    Device device;
    aclrtStream stream = nullptr;
    MUST(PLANTED(aclrtCreateStream(&stream)));
  };
  all["stream_destroyed"] = [] {
    Device device;
    aclrtStream stream = nullptr;
    MUST(aclrtCreateStream(&stream));
    MUST(aclrtDestroyStream(stream));
  };
  all["leak_event"] = [] {
    Device device;
    aclrtEvent event = nullptr;
    MUST(PLANTED(aclrtCreateEvent(&event)));
  };
  all["event_destroyed"] = [] {
    Device device;
    aclrtEvent event = nullptr;
    MUST(aclrtCreateEvent(&event));
    MUST(aclrtDestroyEvent(event));
  };
  all["leak_context"] = [] {
    Device device;
    aclrtContext context = nullptr;
    MUST(PLANTED(aclrtCreateContext(&context, 0)));
  };
  all["context_destroyed"] = [] {
    Device device;
    aclrtContext context = nullptr;
    MUST(aclrtCreateContext(&context, 0));
    MUST(aclrtDestroyContext(context));
  };
  all["leak_pool"] = [] {
    Device device;
    PLANTED(make_pool());
  };
  all["pool_destroyed"] = [] {
    Device device;
    const aclrtMemPool pool = make_pool();
    MUST(aclrtMemPoolDestroy(pool));
  };
  all["leak_pool_block"] = [] {
    Device device;
    const aclrtMemPool pool = make_pool();
    void* memory = nullptr;
    aclrtStream stream = nullptr;
    MUST(aclrtCreateStream(&stream));
    MUST(PLANTED(aclrtMemPoolMallocAsync(&memory, 2 * kMiB, pool, stream)));
    MUST(aclrtDestroyStream(stream));
    if (aclrtMemPoolDestroy(pool) != 0) std::exit(97);
  };
  all["pool_block_freed"] = [] {
    Device device;
    const aclrtMemPool pool = make_pool();
    void* memory = nullptr;
    aclrtStream stream = nullptr;
    MUST(aclrtCreateStream(&stream));
    MUST(aclrtMemPoolMallocAsync(&memory, 2 * kMiB, pool, stream));
    MUST(aclrtMemPoolFreeAsync(memory, stream));
    MUST(aclrtSynchronizeStream(stream));
    MUST(aclrtDestroyStream(stream));
    MUST(aclrtMemPoolDestroy(pool));
  };
  all["leak_host_registration"] = [] {
    Device device;
    static Page host;
    void* view = nullptr;
    MUST(PLANTED(aclrtHostRegister(host.bytes, sizeof host.bytes, ACL_HOST_REGISTER_MAPPED, &view)));
  };
  all["host_registration_ended"] = [] {
    Device device;
    static Page host;
    void* view = nullptr;
    MUST(aclrtHostRegister(host.bytes, sizeof host.bytes, ACL_HOST_REGISTER_MAPPED, &view));
    MUST(aclrtHostUnregister(host.bytes));
  };
  all["leak_heap"] = [] {
    Device device;
    char* const memory = block(4096);
    PLANTED(heap(memory, 4096));
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
    PLANTED(region(pool, memory, 256));
    mstxMemHeapUnregister(nullptr, pool);
    MUST(aclrtFree(memory));
  };
  all["pool_region_ended"] = [] {
    Device device;
    char* const memory = block(4096);
    const auto pool = heap(memory, 4096);
    const auto handle = region(pool, memory, 256);
    unregister(handle);
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
    PLANTED(region(nullptr, memory, 64));
    MUST(aclrtFree(memory));
  };
  all["leak_without_reset"] = [] {
    MUST(aclInit(nullptr));
    MUST(aclrtSetDevice(0));
    void* memory = nullptr;
    MUST(PLANTED(aclrtMalloc(&memory, 4096, ACL_MEM_MALLOC_HUGE_FIRST)));
  };
  all["growth"] = [] {
    Device device;
    void* kept[6] = {};
    for (auto& memory : kept) {
      MUST(PLANTED(aclrtMalloc(&memory, 4096, ACL_MEM_MALLOC_HUGE_FIRST)));
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
      void* memory = nullptr;
      MUST(aclrtMalloc(&memory, 4096, ACL_MEM_MALLOC_HUGE_FIRST));
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
