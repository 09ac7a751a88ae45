// SPDX-License-Identifier: Apache-2.0
// The order of streams.
#include "inspect/program.h"

namespace programs {

namespace {

// A device, two streams, an event and a stream-ordered pool, which go at the end; allocate() is
// aclrtMemPoolMallocAsync, order() lets one stream wait for the other, fill() is aclrtMemsetAsync of 4 KiB.
struct Streams {
  Device device;
  aclrtStream first = nullptr, second = nullptr;
  aclrtEvent event = nullptr;
  aclrtMemPool pool = nullptr;
  Streams() {
    MUST(aclrtCreateStream(&first));
    MUST(aclrtCreateStream(&second));
    MUST(aclrtCreateEvent(&event));
    aclrtMemPoolProps props{};
    props.location = {0, ACL_MEM_LOCATION_TYPE_DEVICE};
    props.maxSize = 64 * kMiB;
    MUST(aclrtMemPoolCreate(&pool, &props));
  }
  ~Streams() {
    aclrtSynchronizeDevice();  // tells of the task that failed, where one was planted
    MUST(aclrtMemPoolDestroy(pool));
    MUST(aclrtDestroyEvent(event));
    MUST(aclrtDestroyStream(first));
    MUST(aclrtDestroyStream(second));
  }
  char* allocate(aclrtStream stream) {
    void* memory = nullptr;
    MUST(aclrtMemPoolMallocAsync(&memory, 2 * kMiB, pool, stream));
    return static_cast<char*>(memory);
  }
  void order(aclrtStream before, aclrtStream after) {
    MUST(aclrtRecordEvent(event, before));
    MUST(aclrtStreamWaitEvent(after, event));
  }
  static void fill(char* memory, aclrtStream stream) { aclrtMemsetAsync(memory, 4096, 0, 4096, stream); }
};

}  // namespace

void add_stream_programs(Programs& all) {
  all["order_same_stream"] = [] {
    Streams streams;
    char* const memory = streams.allocate(streams.first);
    Streams::fill(memory, streams.first);
    MUST(aclrtMemPoolFreeAsync(memory, streams.first));
  };
  all["order_before_allocation"] = [] {
    Streams streams;
    char* const memory = streams.allocate(streams.first);
    PLANTED(Streams::fill(memory, streams.second));
    MUST(aclrtSynchronizeDevice());
    MUST(aclrtMemPoolFreeAsync(memory, streams.first));
  };
  all["order_by_event"] = [] {
    Streams streams;
    char* const memory = streams.allocate(streams.first);
    streams.order(streams.first, streams.second);
    Streams::fill(memory, streams.second);
    streams.order(streams.second, streams.first);
    MUST(aclrtMemPoolFreeAsync(memory, streams.first));
  };
  all["order_after_free"] = [] {
    Streams streams;
    char* const memory = streams.allocate(streams.first);
    Streams::fill(memory, streams.first);
    MUST(aclrtMemPoolFreeAsync(memory, streams.first));
    PLANTED(Streams::fill(memory, streams.first));
  };
  all["order_free_elsewhere"] = [] {
    Streams streams;
    char* const memory = streams.allocate(streams.first);
    streams.order(streams.first, streams.second);
    Streams::fill(memory, streams.second);
    MUST(PLANTED(aclrtMemPoolFreeAsync(memory, streams.first)));
  };
  all["order_free_in_flight"] = [] {
    Streams streams;
    char* const memory = block(4096);
    Streams::fill(memory, streams.first);
    PLANTED(aclrtFree(memory));
  };
  all["order_free_synchronised"] = [] {
    Streams streams;
    char* const memory = block(4096);
    char* const other = block(4096);
    Streams::fill(memory, streams.first);
    MUST(aclrtSynchronizeStream(streams.first));
    MUST(aclrtFree(memory));
    Streams::fill(other, streams.second);
    MUST(aclrtRecordEvent(streams.event, streams.second));
    MUST(aclrtSynchronizeEvent(streams.event));
    MUST(aclrtFree(other));
  };
  all["order_host_work"] = [] {
    Streams streams;
    static char* memory;
    memory = block(4096);
    Streams::fill(memory, streams.first);
    MUST(aclrtLaunchHostFunc(
        streams.first, [](void*) { MUST(aclrtFree(memory)); }, nullptr));
    MUST(aclrtSynchronizeStream(streams.first));
  };
  all["order_reuse"] = [] {
    Streams streams;
    char* const memory = block(4096);
    const auto pool = heap(memory, 4096);
    const auto earlier = region(pool, memory, 4096);
    Streams::fill(memory, streams.first);
    unregister(earlier);
    region(pool, memory, 4096);
    PLANTED(Streams::fill(memory, streams.second));
    MUST(aclrtSynchronizeDevice());
    end_heap(pool);
    MUST(aclrtFree(memory));
  };
  all["order_reuse_ordered"] = [] {
    Streams streams;
    char* const memory = block(4096);
    const auto pool = heap(memory, 4096);
    auto current = region(pool, memory, 4096);
    Streams::fill(memory, streams.first);
    unregister(current);
    current = region(pool, memory, 4096);
    Streams::fill(memory, streams.first);  // the same stream needs nothing
    unregister(current);
    region(pool, memory, 4096);
    streams.order(streams.first, streams.second);
    Streams::fill(memory, streams.second);
    MUST(aclrtSynchronizeDevice());
    end_heap(pool);
    MUST(aclrtFree(memory));
  };
}

}  // namespace programs
