// SPDX-License-Identifier: Apache-2.0
#include "os/detached.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

namespace plat::os {
namespace {

struct Detached : ::testing::Test {
  std::string log = "/tmp/plat-detached-" + std::to_string(getpid());
  ~Detached() override { std::filesystem::remove(log); }

  std::string said_by(const std::string& script, const Variables& variables = {}) {
    const Fd program = start_detached({"/bin/sh", "-c", script}, variables, log);
    EXPECT_TRUE(program);
    EXPECT_TRUE(has_ended(program, 60000));
    return read_small_file(log).value_or("");
  }
};

volatile sig_atomic_t g_children = 0;

TEST_F(Detached, SaysWhatItSaysToTheLog) {
  EXPECT_EQ(said_by("echo out; echo err >&2"), "out\nerr\n");
  EXPECT_EQ(said_by("echo again"), "again\n");  // begins anew
}

TEST_F(Detached, HasTheVariablesThatAreGiven) {
  setenv("PLAT_TEST_KEPT", "kept", 1);
  setenv("PLAT_TEST_GONE", "gone", 1);
  const std::string said = said_by("echo $PLAT_TEST_KEPT-$PLAT_TEST_GONE-$PLAT_TEST_NEW-",
                                   {{"PLAT_TEST_GONE", ""}, {"PLAT_TEST_NEW", "a b"}});
  EXPECT_EQ(said, "kept--a b-\n");
}

TEST_F(Detached, IsNoChildAndRaisesNoSignal) {
  signal(SIGCHLD, [](int) { g_children = g_children + 1; });
  const std::string said = said_by("echo $PPID");
  signal(SIGCHLD, SIG_DFL);
  EXPECT_NE(said, std::to_string(getpid()) + "\n");
  EXPECT_EQ(g_children, 0);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

TEST_F(Detached, HasNoFilesOfOurs) {
  const Fd ours(open("/dev/null", O_RDONLY));
  const Fd high(fcntl(ours.get(), F_DUPFD, 200));
  const auto has = [&](int number) {
    return said_by("[ -e /proc/$$/fd/" + std::to_string(number) + " ] && echo yes || echo no") == "yes\n";
  };
  EXPECT_TRUE(has(3));  // by which its end is seen
  for (const int number : {ours.get(), high.get()}) EXPECT_FALSE(number > 3 && has(number)) << number;
}

TEST_F(Detached, OutlivesWhoStartedIt) {
  const std::string fifo = log + ".fifo", answer = log + ".answer";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  ASSERT_EQ(mkfifo(answer.c_str(), 0600), 0);
  const pid_t starter = fork();
  if (starter == 0) {
    const Fd program = start_detached(
        {"/bin/sh", "-c", "read line <" + fifo + "; echo $line; echo said >" + answer}, {}, log);
    _exit(program && !has_ended(program, 0) ? 0 : 1);
  }
  int status = 1;
  waitpid(starter, &status, 0);
  EXPECT_EQ(status, 0);
  {
    const Fd tell(open(fifo.c_str(), O_WRONLY));
    EXPECT_EQ(write(tell.get(), "still here\n", 11), 11);
  }
  // Who started it had the file that is at its end when the program is, so it says itself that it has
  // written.
  const Fd heard(open(answer.c_str(), O_RDONLY | O_NONBLOCK));
  pollfd watched{heard.get(), POLLIN, 0};
  EXPECT_EQ(poll(&watched, 1, 60000), 1);
  EXPECT_EQ(read_small_file(log).value_or(""), "still here\n");
  std::filesystem::remove(fifo);
  std::filesystem::remove(answer);
}

TEST_F(Detached, WhatCannotRunIsNotStarted) {
  EXPECT_FALSE(start_detached({"/nowhere/at/all"}, {}, log));
  EXPECT_EQ(errno, ENOENT);
  EXPECT_FALSE(start_detached({"/etc/passwd"}, {}, log));
  EXPECT_EQ(errno, EACCES);
  EXPECT_FALSE(start_detached({"/bin/true"}, {}, "/nowhere/at/all"));
}

TEST(OwnLibrary, IsTheFileThatThisCodeIsIn) {
  EXPECT_EQ(own_library_path(), own_path());  // of a program that has it linked in
}

}  // namespace
}  // namespace plat::os
