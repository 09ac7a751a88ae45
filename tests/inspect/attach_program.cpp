// SPDX-License-Identifier: Apache-2.0
// inspect_attachable [silent|churn TOOL]: a program that was started without the recorder.
//
// By itself it says "ready", then hands out and takes back blocks of a pool until its input ends. `silent`
// makes one call and no more. `churn` attaches and detaches a tool a thousand times while three threads do
// this.
#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "inspect/program.h"
#include "plat/mstx_ext.h"

namespace {

using namespace programs;

bool input_has_ended() {
  pollfd input = {STDIN_FILENO, POLLIN, 0};
  return poll(&input, 1, 0) != 0;
}

// A heap with one region that stays and some that come and go.
class Pool {
 public:
  Pool(char* memory, const char* name) : memory_(memory), domain_(mstxDomainCreateA(name)) {
    heap_ = heap(memory_, 8192, domain_);
    kept_ = region(heap_, memory_, 1024, domain_);
  }
  ~Pool() {
    unregister(kept_, domain_);
    mstxMemHeapUnregister(domain_, heap_);
    mstxDomainDestroy(domain_);
  }
  void step() {
    const auto by_handle = region(heap_, memory_ + 2048, 512, domain_);
    region(heap_, memory_ + 4096, 512, domain_);
    mstxDomainMarkA(domain_, "step", nullptr);
    unregister(by_handle, domain_);
    unregister_at(memory_ + 4096, domain_);
  }

 private:
  char* memory_;
  mstxDomainHandle_t domain_;
  mstxMemHeapHandle_t heap_;
  mstxMemRegionHandle_t kept_;
};

void say(const char* text) {
  std::printf("%s\n", text);
  std::fflush(stdout);
}

// Some steps for every coming and going of the tool, so that the trace stays small on a slow machine.
int churn(const char* tool, char* memory) {
  constexpr int kSteps = 5;
  std::atomic<bool> stop{false};
  std::atomic<int> turn{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      Pool pool(memory + t * 8192, "churn");
      for (int seen = -1; !stop;) {
        const int now = turn;
        for (int i = 0; i < kSteps && now != seen; ++i) pool.step();
        seen = now;
        std::this_thread::yield();
      }
    });
  int failures = 0;
  for (int round = 0; round < 1000; ++round) {
    platMstxToolId_t id = 0;
    if (platMstxAttach(tool, &id) != PLAT_MSTX_OK) ++failures;
    ++turn;
    for (int i = 0; i < round % 7; ++i) std::this_thread::yield();
    if (platMstxDetach(id) != PLAT_MSTX_OK) ++failures;
    ++turn;
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  return failures;
}

}  // namespace

int main(int argc, char** argv) {
  Device device;
  char* const memory = block(3 * 8192);
  int failures = 0;
  if (argc > 2 && std::strcmp(argv[1], "churn") == 0) {
    failures = churn(argv[2], memory);
  } else {
    Pool pool(memory, "attachable");
    say("ready");
    const bool silent = argc > 1 && std::strcmp(argv[1], "silent") == 0;
    while (!input_has_ended())
      if (!silent) pool.step();
  }
  MUST(aclrtFree(memory));
  return failures == 0 ? 0 : 1;
}
