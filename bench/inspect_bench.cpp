// SPDX-License-Identifier: Apache-2.0
// What recording costs: nanoseconds an event, without and with a call stack, and bytes an event on disk.
// Over a device that does nothing, less the cost of calling that device.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "acl/acl.h"
#include "inspect/trace/reader.h"
#include "ratio.h"

namespace {

constexpr int kEvents = 60'000;
constexpr int kDepth = 12;
constexpr double kBytesTarget = 32;

template <class Function>
Function direct(const char* name) {
  static void* const device = dlopen(BENCH_NULL_DEVICE, RTLD_NOW | RTLD_LOCAL);
  return reinterpret_cast<Function>(dlsym(device, name));
}

// A program's step: allocate, copy four times, free.
template <class Malloc, class Copy, class Free>
void step(Malloc&& allocate, Copy&& copy, Free&& release, int i) {
  void* memory = nullptr;
  allocate(&memory, 4096 + static_cast<size_t>(i % 7) * 512, ACL_MEM_MALLOC_HUGE_FIRST);
  for (int k = 0; k < 4; ++k) {
    static char host[4096];
    copy(memory, 4096, host + k * 64, 1024, ACL_MEMCPY_HOST_TO_DEVICE, reinterpret_cast<aclrtStream>(0x7000));
  }
  release(memory);
}
constexpr int kStepEvents = 6;

// Under a stack of some depth, as real programs are.
template <class Body>
__attribute__((noinline)) void below(int depth, Body&& body) {
  if (depth == 0) {
    body();
  } else {
    below(depth - 1, body);
  }
  asm volatile("" ::: "memory");  // no tail call: the frame must stay
}

double measure(const std::string& trace) {
  const auto malloc_direct = direct<decltype(&aclrtMalloc)>("null_Malloc");
  const auto copy_direct = direct<decltype(&aclrtMemcpyAsync)>("null_MemcpyAsync");
  const auto free_direct = direct<decltype(&aclrtFree)>("null_Free");
  std::vector<double> costs;
  below(kDepth, [&] {
    for (int round = 0; round < 7; ++round) {
      const double start = plat::bench::cpu_ns();
      for (int i = 0; i < kEvents / kStepEvents / 7; ++i) step(malloc_direct, copy_direct, free_direct, i);
      const double middle = plat::bench::cpu_ns();
      for (int i = 0; i < kEvents / kStepEvents / 7; ++i) step(aclrtMalloc, aclrtMemcpyAsync, aclrtFree, i);
      const double end = plat::bench::cpu_ns();
      costs.push_back(((end - middle) - (middle - start)) / (kEvents / kStepEvents / 7 * kStepEvents));
    }
  });
  std::string problem;
  const auto source = plat::inspect::source_of_file(trace, problem);
  const auto reader = source ? plat::inspect::Reader::open(*source, problem) : std::nullopt;
  if (!reader) {
    std::fprintf(stderr, "%s\n", problem.c_str());
    std::exit(1);
  }
  std::printf(" %10.1f bytes an event (target %.0f)",
              static_cast<double>(reader->info().bytes) / static_cast<double>(reader->info().events),
              kBytesTarget);
  return plat::bench::median(costs);
}

void run(const char* stacks, double target) {
  const std::string trace = "/tmp/plat-bench-" + std::to_string(getpid()) + "-" + stacks + ".trace";
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    setenv("PLAT_INSPECT_TRACE", trace.c_str(), 1);
    setenv("PLAT_INSPECT_STACKS", stacks, 1);
    std::printf("recording, stacks %-7s", stacks);
    const double cost = measure(trace);
    std::printf(" %8.1f ns an event", cost);
    if (target > 0) std::printf(" (target %.0f)", target);
    std::printf("\n");
    std::fflush(stdout);
    unlink(trace.c_str());
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (status != 0) std::exit(1);
}

}  // namespace

int main() {
  run("none", 50);
  run("fp", 150);
  run("unwind", 0);  // some microseconds each: no target
}
