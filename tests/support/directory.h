// SPDX-License-Identifier: Apache-2.0
// A directory of a test's own for the machine's files; on request with little room.
#pragma once

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace plat::test {

class Directory {
 public:
  Directory() {
    EXPECT_NE(mkdtemp(path_), nullptr);
    setenv("PLAT_DIR", path_, 1);
  }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;
  ~Directory() {
    unsetenv("PLAT_DIR");
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const char* path() const { return path_; }

  // From here on this process, and none but its children, sees a file system of that size there.
  void limit(const std::string& size) const {
    ASSERT_EQ(unshare(geteuid() == 0 ? CLONE_NEWNS : CLONE_NEWNS | CLONE_NEWUSER), 0);
    ASSERT_EQ(mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr), 0);
    ASSERT_EQ(mount("none", path_, "tmpfs", 0, ("mode=700,size=" + size).c_str()), 0);
  }

 private:
  char path_[24] = "/tmp/plat-test-XXXXXX";
};

}  // namespace plat::test
