// SPDX-License-Identifier: Apache-2.0
// Built with ThreadSanitizer, in a build without: a program that people have. Threads share a device, a
// stream hands work to the host, and what it wrote is read after it was waited for.
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "inspect/program.h"

namespace {

struct Work {
  std::vector<char> bytes;  // plain, as a program's own data is
  int runs = 0;
};

void run_on_host(void* user) {
  Work& work = *static_cast<Work*>(user);
  ++work.runs;
  work.bytes[0] = static_cast<char>(work.runs);
}

// Everything that passes from one thread to another here passes through calls of the device.
void worker(int number) {
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
    std::vector<char> back(4096);
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

}  // namespace

// An argument: the threads of the program write what nothing orders, too.
int main(int argc, char**) {
  programs::Device device;
  std::vector<std::thread> threads;
  static int shared = 0;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([i, argc] {
      if (argc > 1) ++shared;
      worker(i);
    });
  for (std::thread& thread : threads) thread.join();
}
