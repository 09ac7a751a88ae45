// SPDX-License-Identifier: Apache-2.0
// Files of this user's alone, and byte locks between processes.
#include "os/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <functional>

#include "os/process.h"

namespace plat::os {
namespace {

class Files : public ::testing::Test {
 protected:
  void SetUp() override {
    char path[] = "/tmp/plat-os-test-XXXXXX";
    ASSERT_NE(mkdtemp(path), nullptr);
    directory_ = path;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }
  std::string path(const char* name) const { return directory_ + "/" + name; }

  // What a child's body returns, as its exit status.
  static int in_child(const std::function<int()>& body) {
    const pid_t child = fork();
    if (child == 0) _exit(body());
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
  }

  std::string directory_;
};

TEST_F(Files, ALockIsSeenByOtherProcessesAndNotByItsHolder) {
  const Fd mine = open_private_file(path("control"), true);
  ASSERT_TRUE(mine);
  ASSERT_EQ(set_size(mine.get(), 8192), 0);
  ASSERT_EQ(try_lock_byte(mine.get(), 4096), 0);
  EXPECT_EQ(try_lock_byte(mine.get(), 4096), 0);  // again, by the same description
  EXPECT_FALSE(is_byte_locked(mine.get(), 4096));
  EXPECT_EQ(in_child([&] {
              const Fd theirs = open_private_file(path("control"), false);
              if (!theirs) return 1;
              if (try_lock_byte(theirs.get(), 4096) != EAGAIN) return 2;
              if (!is_byte_locked(theirs.get(), 4096)) return 3;
              if (is_byte_locked(theirs.get(), 4097)) return 4;
              return try_lock_byte(theirs.get(), 4097) == 0 ? 0 : 5;
            }),
            0);
  EXPECT_FALSE(is_byte_locked(mine.get(), 4097));  // the child's ended with it
  ASSERT_EQ(unlock_byte(mine.get(), 4096), 0);
  EXPECT_EQ(in_child([&] {
              const Fd theirs = open_private_file(path("control"), false);
              return try_lock_byte(theirs.get(), 4096);
            }),
            0);
}

TEST_F(Files, ALockEndsWithAKilledHolder) {
  const Fd mine = open_private_file(path("control"), true);
  ASSERT_EQ(set_size(mine.get(), 4096), 0);
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    const Fd theirs = open_private_file(path("control"), false);
    const char locked = try_lock_byte(theirs.get(), 7) == 0 ? 'y' : 'n';
    [[maybe_unused]] const ssize_t written = write(ready[1], &locked, 1);
    for (;;) pause();
  }
  char locked = 0;
  ASSERT_EQ(read(ready[0], &locked, 1), 1);
  EXPECT_EQ(locked, 'y');
  EXPECT_EQ(try_lock_byte(mine.get(), 7), EAGAIN);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_EQ(try_lock_byte(mine.get(), 7), 0);
  close(ready[0]);
  close(ready[1]);
}

TEST_F(Files, ADirectoryMustBeOfThisUserAlone) {
  EXPECT_EQ(make_private_directory(path("own")), 0);
  EXPECT_EQ(make_private_directory(path("own")), 0);  // it may be there already
  struct stat info {};
  ASSERT_EQ(stat(path("own").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700u);
  ASSERT_EQ(chmod(path("own").c_str(), 0777), 0);
  EXPECT_EQ(make_private_directory(path("own")), EPERM);
  ASSERT_EQ(mkdir(path("target").c_str(), 0700), 0);
  ASSERT_EQ(symlink(path("target").c_str(), path("link").c_str()), 0);
  EXPECT_EQ(make_private_directory(path("link")), EPERM);
  EXPECT_EQ(make_private_directory(path("missing/below")), ENOENT);
  if (geteuid() == 0) {
    ASSERT_EQ(chown(path("target").c_str(), 65534, 65534), 0);
    EXPECT_EQ(make_private_directory(path("target")), EPERM);
  }
}

TEST_F(Files, AFileMustBeOfThisUserAlone) {
  EXPECT_FALSE(open_private_file(path("file"), false));
  EXPECT_TRUE(open_private_file(path("file"), true));
  EXPECT_TRUE(open_private_file(path("file"), false));
  ASSERT_EQ(chmod(path("file").c_str(), 0640), 0);
  EXPECT_FALSE(open_private_file(path("file"), true));
  EXPECT_EQ(errno, EPERM);
  ASSERT_EQ(chmod(path("file").c_str(), 0600), 0);
  ASSERT_EQ(symlink(path("file").c_str(), path("link").c_str()), 0);
  EXPECT_FALSE(open_private_file(path("link"), true));
  EXPECT_FALSE(open_private_file(directory_, false));
}

TEST_F(Files, ASizeBeyondTheLimitIsAnErrorAndNoSignal) {
  EXPECT_EQ(in_child([&] {
              const rlimit limit{4096, 4096};
              setrlimit(RLIMIT_FSIZE, &limit);
              const Fd fd = open_private_file(path("large"), true);
              return set_size(fd.get(), 4097) == EFBIG && set_size(fd.get(), 4096) == 0 ? 0 : 1;
            }),
            0);
  const auto text = read_small_file(path("large"));
  ASSERT_TRUE(text);
  EXPECT_EQ(text->size(), 4096u);
  EXPECT_FALSE(read_small_file(path("nothing")));
}

TEST_F(Files, WritesWhatTheSystemTakes) {
  const Fd file = open_private_file(path("data"), true);
  ASSERT_TRUE(file);
  EXPECT_EQ(write_at(file.get(), "abcdef", 6, 10), 6u);
  char back[6] = {};
  ASSERT_TRUE(read_at(file.get(), back, 6, 10));
  EXPECT_EQ(std::string(back, 6), "abcdef");
  EXPECT_EQ(write_at(-1, "abcdef", 6, 0), 0u);
}

TEST_F(Files, TextIsAddedAtTheEnd) {
  EXPECT_FALSE(exists(path("log")));
  append(path("log"), "one\n");
  append(path("log"), "two\n");
  EXPECT_TRUE(exists(path("log")));
  EXPECT_EQ(read_small_file(path("log")), "one\ntwo\n");
}

// Where there is no such file, people see the text all the same.
TEST_F(Files, TextThatHasNoFileGoesToStandardError) {
  ::testing::internal::CaptureStderr();
  append(path("no/such/directory"), "one\n");
  append("", "two\n");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "one\ntwo\n");
}

TEST_F(Files, APipeThatNobodyReadsRaisesNoSignal) {
  EXPECT_EQ(in_child([] {
              int ends[2];
              if (pipe(ends) != 0 || dup2(ends[1], STDERR_FILENO) < 0) return 1;
              close(ends[0]);
              append("", "lost\n");
              return 0;
            }),
            0);
}

TEST_F(Files, AKilledProcessRunsNothingMore) {
  EXPECT_EQ(in_child([]() -> int { kill_process(); }), 1000 + SIGKILL);
}

TEST(MemoryFile, HasItsSizeAndIdentityAndAHighNumber) {
  const Fd a = create_memory_file("a", 1 << 20);
  const Fd b = create_memory_file("b", 1 << 20);
  ASSERT_TRUE(a && b);
  EXPECT_GT(a.get(), 100);
  EXPECT_EQ(identify(a.get())->size_bytes, 1u << 20);
  EXPECT_FALSE(*identify(a.get()) == *identify(b.get()));
  EXPECT_FALSE(identify(-1));
}

}  // namespace
}  // namespace plat::os
