// SPDX-License-Identifier: Apache-2.0
#include "os/process.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace plat::os {
namespace {

void* wait_for_ever(void*) {
  for (;;) pause();
}

TEST(Process, IsNotGoneWhileItRuns) {
  EXPECT_FALSE(process_is_gone(getpid()));
  EXPECT_FALSE(process_is_gone(1));
}

TEST(Process, IsGoneWhenItHasEndedWhetherItWasWaitedForOrNot) {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  siginfo_t info{};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
  EXPECT_TRUE(process_is_gone(child));
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  EXPECT_TRUE(process_is_gone(child));
}

TEST(Process, IsNotGoneWhileOneOfItsThreadsRuns) {
  const pid_t child = fork();
  if (child == 0) {
    pthread_t thread;
    pthread_create(&thread, nullptr, wait_for_ever, nullptr);
    syscall(SYS_exit, 0);  // this thread only
  }
  const std::string stat = "/proc/" + std::to_string(child) + "/stat";
  while (read_small_file(stat).value_or("").find(") Z") == std::string::npos) sched_yield();
  EXPECT_FALSE(process_is_gone(child));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

}  // namespace
}  // namespace plat::os
