// SPDX-License-Identifier: Apache-2.0
// Streams and the host on the same bytes: with an order, and without.
#include <thread>

#include "inspect/program.h"

namespace programs {

namespace {

// 4 KiB.
constexpr size_t kRaceBytes = 4096;

// A device, two streams, an event, two blocks (memory, other) and page-locked memory of the host (host), each
// of twice kRaceBytes; order() lets one stream wait for the other. It waits for all work before it ends.
struct Pair {
  Device device;
  aclrtStream first = nullptr, second = nullptr;
  aclrtEvent event = nullptr;
  char* memory = nullptr;
  char* other = nullptr;
  char* host = nullptr;  // page-locked

  Pair() : memory(block(2 * kRaceBytes)), other(block(2 * kRaceBytes)) {
    MUST(aclrtCreateStream(&first));
    MUST(aclrtCreateStream(&second));
    MUST(aclrtCreateEvent(&event));
    void* locked = nullptr;
    MUST(aclrtMallocHost(&locked, 2 * kRaceBytes));
    host = static_cast<char*>(locked);
  }
  ~Pair() {
    MUST(aclrtSynchronizeDevice());
    MUST(aclrtFree(memory));
    MUST(aclrtFree(other));
    MUST(aclrtFreeHost(host));
    MUST(aclrtDestroyEvent(event));
    MUST(aclrtDestroyStream(first));
    MUST(aclrtDestroyStream(second));
  }
  void order(aclrtStream before, aclrtStream after) const {
    MUST(aclrtRecordEvent(event, before));
    MUST(aclrtStreamWaitEvent(after, event));
  }
};

// Writes to a block on a stream, by aclrtMemsetAsync.
void fill(void* to, size_t size, aclrtStream stream) { MUST(aclrtMemsetAsync(to, size, 7, size, stream)); }
// Copies kRaceBytes on a stream, by aclrtMemcpyAsync.
void copy(void* to, const void* from, aclrtMemcpyKind kind, aclrtStream stream) {
  MUST(aclrtMemcpyAsync(to, kRaceBytes, from, kRaceBytes, kind, stream));
}

// Two buffers, filled by one stream and emptied by the other, in turns.
void ping_pong(bool filler_waits) {
  Pair pair;
  aclrtEvent filled[2], emptied[2];
  for (int i = 0; i < 2; ++i) {
    MUST(aclrtCreateEvent(&filled[i]));
    MUST(aclrtCreateEvent(&emptied[i]));
  }
  for (int step = 0; step < 8; ++step) {
    const int turn = step % 2;
    char* const buffer = pair.memory + turn * kRaceBytes;
    if (step >= 2 && filler_waits) MUST(aclrtStreamWaitEvent(pair.first, emptied[turn]));
    fill(buffer, kRaceBytes, pair.first);
    MUST(aclrtRecordEvent(filled[turn], pair.first));
    MUST(aclrtStreamWaitEvent(pair.second, filled[turn]));
    copy(pair.other, buffer, ACL_MEMCPY_DEVICE_TO_DEVICE, pair.second);
    MUST(aclrtRecordEvent(emptied[turn], pair.second));
  }
  MUST(aclrtSynchronizeDevice());
  for (int i = 0; i < 2; ++i) {
    MUST(aclrtDestroyEvent(filled[i]));
    MUST(aclrtDestroyEvent(emptied[i]));
  }
}

// Writes 32 rows of 64 bytes, 128 bytes apart, by aclrtMemcpy2dAsync.
void write_rows(const Pair& pair, char* to, aclrtStream stream) {
  MUST(aclrtMemcpy2dAsync(to, 128, pair.host, 64, 64, 32, ACL_MEMCPY_HOST_TO_DEVICE, stream));
}

}  // namespace

void add_race_programs(Programs& all) {
  all["race_write_write"] = [] {
    const Pair pair;
    fill(pair.memory, kRaceBytes, pair.first);
    PLANTED(fill(pair.memory + kRaceBytes - 64, kRaceBytes, pair.second));
  };
  all["race_read_after_write"] = [] {
    const Pair pair;
    fill(pair.memory, kRaceBytes, pair.first);
    PLANTED(copy(pair.other, pair.memory, ACL_MEMCPY_DEVICE_TO_DEVICE, pair.second));
  };
  all["race_write_after_read"] = [] {
    const Pair pair;
    copy(pair.other, pair.memory, ACL_MEMCPY_DEVICE_TO_DEVICE, pair.first);
    PLANTED(fill(pair.memory, kRaceBytes, pair.second));
  };
  // An event that was recorded too early orders nothing.
  all["race_event_before"] = [] {
    const Pair pair;
    pair.order(pair.first, pair.second);
    fill(pair.memory, kRaceBytes, pair.first);
    PLANTED(fill(pair.memory, kRaceBytes, pair.second));
  };
  all["race_host_reads"] = [] {
    const Pair pair;
    copy(pair.host, pair.memory, ACL_MEMCPY_DEVICE_TO_HOST, pair.first);
    MUST(PLANTED(aclrtMemcpy(pair.other, kRaceBytes, pair.host, kRaceBytes, ACL_MEMCPY_HOST_TO_DEVICE)));
  };
  all["race_host_writes"] = [] {
    const Pair pair;
    copy(pair.memory, pair.host, ACL_MEMCPY_HOST_TO_DEVICE, pair.first);
    MUST(PLANTED(aclrtMemcpy(pair.host, kRaceBytes, pair.other, kRaceBytes, ACL_MEMCPY_DEVICE_TO_HOST)));
  };
  all["race_of_threads"] = [] {
    const Pair pair;
    fill(pair.memory, kRaceBytes, pair.first);
    std::thread([&] {
      MUST(aclrtSetDevice(0));
      PLANTED(fill(pair.memory, kRaceBytes, pair.second));
      MUST(aclrtResetDevice(0));
    }).join();
  };
  all["race_rows"] = [] {
    const Pair pair;
    write_rows(pair, pair.memory, pair.first);
    PLANTED(write_rows(pair, pair.memory + 32, pair.second));
  };
  all["race_ping_pong"] = [] { ping_pong(false); };

  all["ordered_ping_pong"] = [] { ping_pong(true); };
  all["ordered_by_event"] = [] {
    const Pair pair;
    fill(pair.memory, kRaceBytes, pair.first);
    pair.order(pair.first, pair.second);
    copy(pair.other, pair.memory, ACL_MEMCPY_DEVICE_TO_DEVICE, pair.second);
    pair.order(pair.second, pair.first);
    fill(pair.memory, kRaceBytes, pair.first);
    MUST(aclrtSynchronizeStream(pair.first));
    fill(pair.memory, kRaceBytes, pair.second);  // the host has waited
  };
  all["ordered_for_host"] = [] {
    const Pair pair;
    copy(pair.host, pair.memory, ACL_MEMCPY_DEVICE_TO_HOST, pair.first);
    MUST(aclrtSynchronizeStream(pair.first));
    MUST(aclrtMemcpy(pair.other, kRaceBytes, pair.host, kRaceBytes, ACL_MEMCPY_HOST_TO_DEVICE));
    copy(pair.memory, pair.host, ACL_MEMCPY_HOST_TO_DEVICE, pair.first);
    MUST(aclrtRecordEvent(pair.event, pair.first));
    aclrtEventStatus status = ACL_EVENT_STATUS_NOT_READY;
    while (status != ACL_EVENT_STATUS_COMPLETE) MUST(aclrtQueryEvent(pair.event, &status));
    MUST(aclrtMemcpy(pair.host, kRaceBytes, pair.other, kRaceBytes, ACL_MEMCPY_DEVICE_TO_HOST));
  };
  // Between two tasks of a stream the host function has the memory for itself.
  all["ordered_by_host_function"] = [] {
    const Pair pair;
    copy(pair.host, pair.memory, ACL_MEMCPY_DEVICE_TO_HOST, pair.first);
    MUST(aclrtLaunchHostFunc(
        pair.first,
        [](void* host) {
          MUST(aclrtSetDevice(0));  // on a thread of its own
          char* const bytes = static_cast<char*>(host);
          MUST(aclrtMemcpy(bytes + kRaceBytes, kRaceBytes, bytes, kRaceBytes, ACL_MEMCPY_HOST_TO_HOST));
        },
        pair.host));
    MUST(aclrtMemcpyAsync(pair.memory, kRaceBytes, pair.host + kRaceBytes, kRaceBytes,
                          ACL_MEMCPY_HOST_TO_DEVICE, pair.first));
    copy(pair.host, pair.other, ACL_MEMCPY_DEVICE_TO_HOST, pair.first);
    MUST(aclrtSynchronizeStream(pair.first));
  };
  all["ordered_by_notify"] = [] {
    const Pair pair;
    aclrtNotify filled = nullptr, emptied = nullptr;
    MUST(aclrtCreateNotify(&filled, ACL_NOTIFY_DEFAULT));
    MUST(aclrtCreateNotify(&emptied, ACL_NOTIFY_DEFAULT));
    fill(pair.memory, kRaceBytes, pair.first);
    MUST(aclrtRecordNotify(filled, pair.first));
    MUST(aclrtWaitAndResetNotify(filled, pair.second, 0));
    copy(pair.other, pair.memory, ACL_MEMCPY_DEVICE_TO_DEVICE, pair.second);
    MUST(aclrtWaitAndResetNotify(emptied, pair.first, 0));  // for a record that comes later
    fill(pair.memory, kRaceBytes, pair.first);
    MUST(aclrtRecordNotify(emptied, pair.second));
    MUST(aclrtSynchronizeDevice());
    MUST(aclrtDestroyNotify(filled));
    MUST(aclrtDestroyNotify(emptied));
  };
  // A notify between two streams orders nothing with a third.
  all["race_beside_notify"] = [] {
    const Pair pair;
    aclrtNotify notify = nullptr;
    aclrtStream third = nullptr;
    MUST(aclrtCreateStream(&third));
    MUST(aclrtCreateNotify(&notify, ACL_NOTIFY_DEFAULT));
    MUST(aclrtRecordNotify(notify, pair.first));
    MUST(aclrtWaitAndResetNotify(notify, third, 0));
    fill(pair.memory, kRaceBytes, pair.first);
    fill(pair.memory, kRaceBytes, pair.second);
    MUST(aclrtSynchronizeDevice());
    MUST(aclrtDestroyNotify(notify));
    MUST(aclrtDestroyStream(third));
  };
  // The wait is queued first, the write that ends it later.
  all["ordered_by_value"] = [] {
    const Pair pair;
    char* const flag = block(64);
    MUST(aclrtMemset(flag, 64, 0, 64));
    MUST(aclrtValueWait(flag, 1, ACL_STREAM_WAIT_VALUE_EQ, pair.second));
    copy(pair.other, pair.memory, ACL_MEMCPY_DEVICE_TO_DEVICE, pair.second);
    fill(pair.memory, kRaceBytes, pair.first);
    MUST(aclrtValueWrite(flag, 1, 0, pair.first));
    MUST(aclrtSynchronizeDevice());
    MUST(aclrtFree(flag));
  };
  all["apart_in_one_block"] = [] {
    const Pair pair;
    fill(pair.memory, kRaceBytes, pair.first);
    fill(pair.memory + kRaceBytes, kRaceBytes, pair.second);
    copy(pair.host, pair.other, ACL_MEMCPY_DEVICE_TO_HOST, pair.first);  // two that only read
    copy(pair.host + kRaceBytes, pair.other, ACL_MEMCPY_DEVICE_TO_HOST, pair.second);
  };
  all["apart_in_columns"] = [] {
    const Pair pair;
    write_rows(pair, pair.memory, pair.first);
    write_rows(pair, pair.memory + 64, pair.second);
  };
}

}  // namespace programs
