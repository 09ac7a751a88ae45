// SPDX-License-Identifier: Apache-2.0
// Built with ThreadSanitizer, in a build without: a program that people have. Threads share a device, a
// stream hands work to the host, and what it wrote is read after it was waited for.
#include <pthread.h>

#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "inspect/program.h"

namespace {

struct Work {
  std::vector<char> bytes;  // plain, as a program's own data is
  int runs = 0;
  std::atomic<int> over{0};  // relaxed: it orders nothing
};

void run_on_host(void* user) {
  Work& work = *static_cast<Work*>(user);
  ++work.runs;
  work.bytes[0] = static_cast<char>(work.runs);
  work.over.fetch_add(1, std::memory_order_relaxed);
}

// Everything that passes from one thread to another here passes through calls of the device.
void worker(int number, bool looks_too_early) {
  MUST(aclrtSetDevice(0));
  aclrtStream stream = nullptr;
  MUST(aclrtCreateStream(&stream));
  void* pinned = nullptr;
  MUST(aclrtMallocHost(&pinned, 4096));
  for (int round = 0; round < 50; ++round) {
    void* const block = programs::block(4096);
    std::memset(pinned, number + round, 4096);
    MUST(aclrtMemcpyAsync(block, 4096, pinned, 4096, ACL_MEMCPY_HOST_TO_DEVICE, stream));
    Work work{std::vector<char>(64)};
    MUST(aclrtLaunchHostFunc(stream, run_on_host, &work));
    MUST(aclrtLaunchHostFunc(stream, run_on_host, &work));
    if (looks_too_early) {
      // After the work, in time and in nothing else: who looks before it may be ordered with it by what it
      // queues next.
      while (work.over.load(std::memory_order_relaxed) < 2) std::this_thread::yield();
      if (work.runs > 2) std::abort();
    }
    MUST(aclrtMemcpyAsync(pinned, 4096, block, 4096, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    MUST(aclrtSynchronizeStream(stream));
    if (work.runs != 2 || work.bytes[0] != 2 ||
        static_cast<char*>(pinned)[9] != static_cast<char>(number + round))
      std::abort();
    MUST(aclrtFree(block));
  }
  MUST(aclrtFreeHost(pinned));
  MUST(aclrtDestroyStream(stream));
  MUST(aclrtResetDevice(0));
}

// One thread queues callbacks, another one runs them, and an event tells a third what the first has written.
void pass_on() {
  MUST(aclrtSetDevice(0));
  aclrtStream first = nullptr, second = nullptr;
  aclrtEvent event = nullptr;
  MUST(aclrtCreateStream(&first));
  MUST(aclrtCreateStream(&second));
  MUST(aclrtCreateEvent(&event));
  std::atomic<uint64_t> reporter{0};  // relaxed: it orders nothing
  std::atomic<bool> over{false};
  std::thread reports([&] {
    aclrtContext context = nullptr;
    MUST(aclrtSetDevice(0));
    MUST(aclrtGetCurrentContext(&context));
    reporter.store(pthread_self(), std::memory_order_relaxed);
    while (!over.load(std::memory_order_relaxed)) aclrtProcessReport(10);
  });
  while (reporter.load(std::memory_order_relaxed) == 0) std::this_thread::yield();
  MUST(aclrtSubscribeReport(reporter.load(std::memory_order_relaxed), first));
  for (int round = 0; round < 20; ++round) {
    Work work{std::vector<char>(64)};
    MUST(aclrtLaunchCallback(run_on_host, &work, ACL_CALLBACK_BLOCK, first));
    MUST(aclrtRecordEvent(event, first));
    MUST(aclrtStreamWaitEvent(second, event));
    MUST(aclrtLaunchHostFunc(second, run_on_host, &work));
    MUST(aclrtRecordEvent(event, second));
    std::thread([&] {
      MUST(aclrtSynchronizeEvent(event));
      if (work.runs != 2) std::abort();
    }).join();
    MUST(aclrtSynchronizeDevice());
  }
  MUST(aclrtUnSubscribeReport(reporter.load(std::memory_order_relaxed), first));
  over.store(true, std::memory_order_relaxed);
  reports.join();
  MUST(aclrtDestroyEvent(event));
  MUST(aclrtDestroyStream(first));
  MUST(aclrtDestroyStream(second));
  MUST(aclrtResetDevice(0));
}

}  // namespace

// "race": the threads of the program write what nothing orders, too. "race_in_work": they look at what queued
// work writes before they have waited for it.
int main(int argc, char** argv) {
  programs::Device device;
  const std::string wrong = argc > 1 ? argv[1] : "";
  std::vector<std::thread> threads;
  static int shared = 0;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([i, &wrong] {
      if (wrong == "race") ++shared;
      worker(i, wrong == "race_in_work");
    });
  threads.emplace_back(pass_on);
  for (std::thread& thread : threads) thread.join();
}
