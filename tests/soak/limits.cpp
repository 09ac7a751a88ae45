// SPDX-License-Identifier: Apache-2.0
// Whatever a system can run out of: files, lengths of files, addresses, data, locked memory, threads, memory
// (room on a disk has a campaign of its own, disk.cpp). A process with a limit set somewhere between nothing
// and enough does ordinary work, and any call may fail, but with an error: it ends by itself, and gives back
// all it had.
#include <acl/acl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <fstream>

#include "soak/campaign.h"
#include "soak/ordinary_work.h"

namespace plat::soak {
namespace {

constexpr int kChildSeconds = 60;
constexpr int kRounds = 40;

enum class What { Resource, Threads, MachineMemory };
struct Limit {
  const char* name;
  What what;
  __rlimit_resource resource;
  uint64_t least;
  uint64_t most;
};
constexpr std::array kLimits = {
    Limit{"files", What::Resource, RLIMIT_NOFILE, 3, 40},
    Limit{"file length", What::Resource, RLIMIT_FSIZE, 0, 128ull << 20},
    Limit{"locked memory", What::Resource, RLIMIT_MEMLOCK, 0, 1 << 20},
    Limit{"data", What::Resource, RLIMIT_DATA, 0, 64ull << 20},
    Limit{"threads", What::Threads, RLIMIT_NPROC, 1, 8},
    Limit{"memory of the machine", What::MachineMemory, RLIMIT_RSS, 0, 48ull << 20},
    Limit{"addresses", What::Resource, RLIMIT_AS, 8ull << 20, 17ull << 40},
};

// Of another user, who has nothing else: the limit counts this process and its threads alone. An ordinary
// user has more than that already, and gets no thread at all.
void become_somebody() {
  const auto user = static_cast<uid_t>(70000 + getpid() % 10000);
  if (geteuid() == 0 && setresuid(user, user, user) != 0) _exit(12);
}

uint64_t available_bytes() {
  std::ifstream file("/proc/meminfo");
  for (std::string name; file >> name;) {
    uint64_t kibibytes = 0;
    if (name == "MemAvailable:" && file >> kibibytes) return kibibytes << 10;
  }
  return 0;
}

void set(const Limit& limit, uint64_t value) {
  if (limit.what == What::MachineMemory) {
    // What device memory must leave to others: all but this much of what there is.
    const uint64_t available = available_bytes();
    setenv("PLAT_KEEP_BACK", fmt::format("{}", available - std::min(available, value)).c_str(), 1);
    return;
  }
  if (limit.what == What::Threads) become_somebody();
  const rlimit wanted{value, value};
  if (setrlimit(limit.resource, &wanted) != 0) _exit(11);
}

int child(const Limit& limit, uint64_t value, uint64_t seed) {
  alarm(kChildSeconds);
  setenv("PLAT_NODE", limit.what == What::Threads ? "private" : getenv("PLAT_NODE"), 1);
  const bool after_opening = limit.what != What::MachineMemory && seed % 2 == 0;
  if (after_opening && (aclInit(nullptr) != 0 || aclrtSetDevice(0) != 0)) return 10;
  set(limit, value);
  if (!after_opening && (aclInit(nullptr) != 0 || aclrtSetDevice(0) != 0)) return 0;  // an error is an answer
  return OrdinaryWork(seed).run(kRounds) ? 0 : 20;
}

int run(Campaign& campaign) {
  campaign.use_machine("64MiB", "1");
  std::mt19937_64 random(campaign.seed());
  while (campaign.time_left()) {
    const Limit& limit = kLimits[random() % kLimits.size()];
    // As likely a small one as a large one.
    const uint64_t value = limit.least + (random() % (limit.most - limit.least + 1) >> random() % 24);
    const uint64_t seed = random();
    fflush(nullptr);
    const pid_t pid = fork();
    if (pid == 0) _exit(child(limit, value, seed));
    int status = 0;
    waitpid(pid, &status, 0);
    if (status != 0)
      campaign.violation(fmt::format("with {} of {} (seed {}) the process ended with status {:#x}", value,
                                     limit.name, seed, status));
    campaign.calls += kRounds * OrdinaryWork::kCallsARound;
    ++campaign.rounds;
  }
  size_t free_bytes = 0, total_bytes = 1;
  if (aclInit(nullptr) != 0 || aclrtSetDevice(0) != 0) campaign.violation(aclGetRecentErrMsg());
  (void)aclrtGetMemInfo(ACL_HBM_MEM, &free_bytes, &total_bytes);
  if (free_bytes != total_bytes)
    campaign.violation(fmt::format("{} of {} bytes came back", free_bytes, total_bytes));
  return campaign.finish();
}

}  // namespace
}  // namespace plat::soak

int main(int argc, char** argv) {
  plat::soak::Campaign campaign("limits", argc, argv);
  return plat::soak::run(campaign);
}
