// SPDX-License-Identifier: Apache-2.0
// The board's file in a program that does what it likes with its numbers.
#include <dirent.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "mstx/board.h"
#include "unit/mstx/fixture.h"

namespace plat::mstx::test {
namespace {

int board_number() {
  int found = -1;
  DIR* const numbers = opendir("/proc/self/fd");
  for (const dirent* entry = readdir(numbers); entry != nullptr; entry = readdir(numbers)) {
    char target[256] = {};
    const std::string path = std::string("/proc/self/fd/") + entry->d_name;
    if (readlink(path.c_str(), target, sizeof target - 1) > 0 &&
        std::string(target).find(kBoardFile) != std::string::npos)
      found = std::atoi(entry->d_name);
  }
  closedir(numbers);
  return found;
}

using Board = MstxTest;

TEST_F(Board, AForkedChildKeepsAFileThatHasTheNumberOfTheBoard) {
  mstxMarkA("the broker starts", nullptr);
  ASSERT_GE(board_number(), 0);
  const pid_t child = fork();
  if (child == 0) {
    // The program's own file has our number, and then it forks.
    const int mine = open("/dev/null", O_RDONLY | O_CLOEXEC);
    const int taken = board_number();
    if (taken < 0 || dup2(mine, taken) < 0) _exit(2);
    const pid_t grandchild = fork();
    if (grandchild == 0) _exit(fcntl(taken, F_GETFD) >= 0 ? 0 : 1);
    int status = 0;
    waitpid(grandchild, &status, 0);
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 3);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace plat::mstx::test
