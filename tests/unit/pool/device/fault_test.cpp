// SPDX-License-Identifier: Apache-2.0
// A fixed program over a pool, once for each of its device calls: that call fails, and nothing may be lost.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <utility>

#include "unit/pool/device/fault_program.h"

namespace plat::test {
namespace {

// The program in a child with a fault plan; what it complains of, or "killed".
std::string run_with(const std::string& plan) {
  int ends[2];
  if (pipe(ends) != 0) return "no pipe";
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    setenv("PLAT_NODE", "private", 1);
    setenv("PLAT_CAPACITY", "64MiB", 1);
    setenv("PLAT_QUIET", "1", 1);
    setenv("PLAT_LOG", "off", 1);
    setenv("PLAT_FAULT", plan.c_str(), 1);
    const std::string problem = FaultProgram().run();
    const bool told = write(ends[1], problem.data(), problem.size()) == static_cast<ssize_t>(problem.size());
    _exit(problem.empty() && told ? 0 : 1);
  }
  close(ends[1]);
  std::string problem;
  char buffer[4096];
  for (ssize_t got = 0; (got = read(ends[0], buffer, sizeof buffer)) > 0;)
    problem.append(buffer, static_cast<size_t>(got));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) return WTERMSIG(status) == SIGKILL ? "killed" : "a crash";
  return WEXITSTATUS(status) == 0 || !problem.empty() ? problem : "an odd end";
}

// How many of these calls there are: a plan that kills at the n-th ends the program exactly when there is
// one.
int count_calls(const std::string& which) {
  int low = 0;
  int high = 256;
  auto reaches = [&](int n) { return run_with(which + ", nth=" + std::to_string(n) + ", kill") == "killed"; };
  while (reaches(high)) low = std::exchange(high, 2 * high);
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    (reaches(middle) ? low : high) = middle;
  }
  return low;
}

// Sanitizers make a process slow to start: they see every seventh call.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kStride = 7;
#else
constexpr int kStride = 1;
#endif

void fail_each(const std::string& which, const std::string& code, int least) {
  ASSERT_EQ(run_with(""), "");
  const int calls = count_calls(which);
  ASSERT_GE(calls, least) << "the program shall do something";
  for (int n = 1; n <= calls; n += kStride) {
    const std::string plan = which + ", nth=" + std::to_string(n) + ", once, fail=" + code;
    ASSERT_EQ(run_with(plan), "") << plan << ", of " << calls << " calls";
  }
}

TEST(PoolFaults, EveryCallMayFail) { fail_each("any", "507899", 200); }
TEST(PoolFaults, EveryAllocationMayFindNoMemory) { fail_each("malloc", "207001", 20); }

}  // namespace
}  // namespace plat::test
