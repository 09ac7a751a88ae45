// SPDX-License-Identifier: Apache-2.0
// Children everywhere: while threads allocate, map, copy and open the device, another one forks, with each of
// the calls that there are. A child that inherits the library must be told so by every call, at once; one
// that calls aclInit is a process of its own; and the parent keeps what it had. A child that does not end is
// a violation.
#include <acl/acl.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <thread>
#include <vector>

#include "soak/campaign.h"

extern "C" pid_t _Fork(void);

namespace plat::soak {
namespace {

constexpr int kChildSeconds = 60;  // far more than any child needs on a machine under load

void use_device(Campaign& campaign, uint64_t seed) {
  std::mt19937_64 random(seed);
  while (campaign.time_left()) {
    const auto device = static_cast<int32_t>(random() % 2);
    (void)aclrtSetDevice(device);
    void* block = nullptr;
    const uint64_t tag = random();
    uint64_t seen = 0;
    if (aclrtMalloc(&block, 4096 << random() % 10, ACL_MEM_MALLOC_HUGE_FIRST) != 0) continue;
    const auto must = [&](aclError code) {
      if (code != 0) campaign.violation(fmt::format("the parent's copy: {} {}", code, aclGetRecentErrMsg()));
    };
    must(aclrtMemcpy(block, 8, &tag, 8, ACL_MEMCPY_HOST_TO_DEVICE));
    aclrtStream stream = nullptr;
    if (aclrtCreateStream(&stream) == 0) {
      (void)aclrtMemsetAsync(static_cast<char*>(block) + 64, 64, 1, 64, stream);
      (void)aclrtSynchronizeStream(stream);
      (void)aclrtDestroyStream(stream);
    }
    must(aclrtMemcpy(&seen, 8, block, 8, ACL_MEMCPY_DEVICE_TO_HOST));
    if (seen != tag) campaign.violation(fmt::format("the parent reads {:#x}, wanted {:#x}", seen, tag));
    if (const aclError code = aclrtFree(block); code != 0)
      campaign.violation(fmt::format("the parent's free: {} {}", code, aclGetRecentErrMsg()));
    // No more often than this thread has set it: the other one counts on its own.
    if (device == 1 && random() % 8 == 0) (void)aclrtResetDevice(1);
    campaign.calls += 7;
  }
}

// What a child does; how it ends.
int child(uint64_t choice) {
  alarm(kChildSeconds);
  void* block = nullptr;
  if (choice % 4 == 0) return 0;
  if (aclrtMalloc(&block, 4096, ACL_MEM_MALLOC_HUGE_FIRST) == 0)
    return 10;  // it inherited nothing that it may use
  if (choice % 4 == 1) return 0;
  if (aclInit(nullptr) != 0 || aclrtSetDevice(0) != 0) return 11;
  const aclError code = aclrtMalloc(&block, 4096, ACL_MEM_MALLOC_HUGE_FIRST);
  if (code != 0 && code != ACL_ERROR_RT_MEMORY_ALLOCATION) return 12;
  if (choice % 4 == 2) return 0;  // ends with a block, which comes back
  return aclFinalize() == 0 ? 0 : 13;
}

pid_t fork_somehow(uint64_t choice) {
  switch (choice % 3) {
    case 0:
      return fork();
    case 1:
      return _Fork();
    default:
      return static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr));
  }
}

void spawn_one(Campaign& campaign) {
  char program[] = "/bin/true";
  char* arguments[] = {program, nullptr};
  pid_t pid = 0;
  if (posix_spawn(&pid, program, nullptr, nullptr, arguments, environ) != 0) return;
  int status = 0;
  waitpid(pid, &status, 0);
  if (status != 0) campaign.violation(fmt::format("a spawned program ended with status {:#x}", status));
}

void fork_children(Campaign& campaign) {
  std::mt19937_64 random(campaign.seed());
  while (campaign.time_left()) {
    if (random() % 5 == 0) {
      spawn_one(campaign);
      continue;
    }
    const uint64_t way = random();
    // After _Fork and clone only what is safe in a signal handler may be used, of the C library too: such a
    // child asks and ends.
    const uint64_t work = way % 3 == 0 ? random() : random() % 2;
    const pid_t pid = fork_somehow(way);
    if (pid == 0) _exit(child(work));
    if (pid < 0) continue;
    if (random() % 4 == 0) {
      kill(pid, SIGKILL);
      ++campaign.kills;
    }
    int status = 0;
    waitpid(pid, &status, 0);
    const bool was_killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    if (status != 0 && !was_killed)
      campaign.violation(
          fmt::format("a child (way {}, work {}) ended with status {:#x}", way % 3, work % 4, status));
    ++campaign.rounds;
  }
}

int run(Campaign& campaign) {
  campaign.use_machine("64MiB");
  if (aclInit(nullptr) != 0) campaign.violation(aclGetRecentErrMsg());
  std::vector<std::thread> threads;
  for (uint64_t number = 0; number < 2; ++number)
    threads.emplace_back([&, number] { use_device(campaign, campaign.seed() * 10 + number); });
  fork_children(campaign);
  for (std::thread& thread : threads) thread.join();
  for (int32_t device = 0; device < 2; ++device) {
    size_t free_bytes = 0, total_bytes = 1;
    (void)aclrtSetDevice(device);
    (void)aclrtResetDeviceForce(device);
    (void)aclrtSetDevice(device);
    (void)aclrtGetMemInfo(ACL_HBM_MEM, &free_bytes, &total_bytes);
    if (free_bytes != total_bytes)
      campaign.violation(fmt::format("device {}: {} of {} bytes came back", device, free_bytes, total_bytes));
  }
  return campaign.finish();
}

}  // namespace
}  // namespace plat::soak

int main(int argc, char** argv) {
  plat::soak::Campaign campaign("forks", argc, argv);
  return plat::soak::run(campaign);
}
