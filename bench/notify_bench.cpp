// SPDX-License-Identifier: Apache-2.0
// A notify round trip between two processes, beside a futex round trip between the same two.
//
// Both processes take turns in both: one wakes the other and waits. Wall time, because waiting is what is
// measured; rounds of the two kinds alternate, so that noise of the machine meets both.
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "acl/acl.h"
#include "ratio.h"

namespace {

constexpr int kRounds = 15;
constexpr int kTrips = 400;

void must(int code, const char* what) {
  if (code == 0) return;
  std::fprintf(stderr, "%s: %d %s\n", what, code, aclGetRecentErrMsg());
  std::exit(1);
}
#define MUST(call) must((call), #call)

// Two words to sleep on, and the keys of two notifies.
struct Shared {
  std::atomic<uint32_t> word[2];
  std::atomic<uint32_t> ready;
  char key[2][65];
};

long futex(std::atomic<uint32_t>& word, int operation, uint32_t value) {
  return syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), operation, value, nullptr, nullptr, 0);
}
void wake(std::atomic<uint32_t>& word) {
  word.fetch_add(1);
  futex(word, FUTEX_WAKE, INT_MAX);
}
void await(std::atomic<uint32_t>& word, uint32_t value) {
  for (uint32_t now = word.load(); now != value; now = word.load()) futex(word, FUTEX_WAIT, now);
}
void meet(Shared& shared, uint32_t goal) {
  shared.ready.fetch_add(1);
  while (shared.ready.load() < goal) usleep(200);
}

double futex_trips(Shared& shared, bool first, uint32_t& turn) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < kTrips; ++i) {
    ++turn;
    if (first) {
      wake(shared.word[0]);
      await(shared.word[1], turn);
    } else {
      await(shared.word[0], turn);
      wake(shared.word[1]);
    }
  }
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count() / kTrips;
}

double notify_trips(aclrtNotify mine, aclrtNotify theirs, bool first) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < kTrips; ++i) {
    if (first) {
      MUST(aclrtRecordNotify(theirs, nullptr));
      MUST(aclrtWaitAndResetNotify(mine, nullptr, 0));
    } else {
      MUST(aclrtWaitAndResetNotify(mine, nullptr, 0));
      MUST(aclrtRecordNotify(theirs, nullptr));
    }
    MUST(aclrtSynchronizeStream(nullptr));
  }
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count() / kTrips;
}

void run(Shared& shared, bool first) {
  const int own = first ? 0 : 1;
  MUST(aclrtSetDevice(0));
  aclrtNotify mine = nullptr, theirs = nullptr;
  MUST(aclrtCreateNotify(&mine, ACL_NOTIFY_DEFAULT));
  MUST(aclrtNotifyGetExportKey(mine, shared.key[own], sizeof shared.key[own],
                               ACL_RT_NOTIFY_EXPORT_FLAG_DISABLE_PID_VALIDATION));
  meet(shared, 2);
  MUST(aclrtNotifyImportByKey(&theirs, shared.key[1 - own], ACL_RT_NOTIFY_IMPORT_FLAG_DEFAULT));
  meet(shared, 4);
  uint32_t turn = 0;
  std::vector<double> ours, others, ratios;
  for (int round = 0; round < kRounds + 2; ++round) {
    const double futex_ns = futex_trips(shared, first, turn);
    const double notify_ns = notify_trips(mine, theirs, first);
    if (round < 2) continue;  // warming up
    ours.push_back(notify_ns);
    others.push_back(futex_ns);
    ratios.push_back(notify_ns / futex_ns);
  }
  if (first)
    std::printf("%-44s %12.1f ns  %12.1f ns  ratio %6.3f\n", "notify round trip / futex round trip",
                plat::bench::median(ours), plat::bench::median(others), plat::bench::median(ratios));
}

}  // namespace

int main() {
  setenv("PLAT_QUIET", "1", 0);
  void* memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 1;
  auto& shared = *new (memory) Shared{};
  const pid_t child = fork();
  if (child == 0) {
    run(shared, false);
    _exit(0);
  }
  run(shared, true);
  int status = 0;
  waitpid(child, &status, 0);
  return status == 0 ? 0 : 1;
}
