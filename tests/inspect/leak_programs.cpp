// One forgotten thing of each kind, and growth from mark to mark.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "inspect/program.h"

namespace programs {

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
