// SPDX-License-Identifier: Apache-2.0
// Limits of control groups, read from trees that look like those of machines with version 1, 2, and both.
#include "os/control_groups.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace plat::os {
namespace {

class ControlGroups : public ::testing::Test {
 protected:
  ControlGroups() {
    std::string pattern = ::testing::TempDir() + "groups-XXXXXX";
    root_ = mkdtemp(pattern.data());
  }
  ~ControlGroups() override { std::filesystem::remove_all(root_); }

  void write(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }
  uint64_t least_left() const {
    uint64_t least = UINT64_MAX;
    for (const MemoryLimit& limit : memory_limits(root_)) least = std::min(least, limit.left_bytes());
    return least;
  }

  std::string root_;
};

constexpr const char* kMountV1 =
    "30 25 0:26 / /sys/fs/cgroup/cpu rw shared:9 - cgroup cgroup rw,cpu\n"
    "31 25 0:27 / /sys/fs/cgroup/memory rw,nosuid shared:10 - cgroup cgroup rw,memory\n";
constexpr const char* kMountV2 = "30 25 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";

TEST_F(ControlGroups, Version2CountsEveryGroupUpToTheRoot) {
  write("/proc/self/cgroup", "0::/a/b\n");
  write("/proc/self/mountinfo", kMountV2);
  write("/sys/fs/cgroup/a/b/memory.max", "max\n");
  write("/sys/fs/cgroup/a/b/memory.current", "100\n");
  write("/sys/fs/cgroup/a/memory.max", "1000\n");
  write("/sys/fs/cgroup/a/memory.current", "300\n");
  EXPECT_EQ(memory_limits(root_).size(), 2u);
  EXPECT_EQ(least_left(), 700u);
}

TEST_F(ControlGroups, Version1IsSeen) {
  write("/proc/self/cgroup", "9:cpu,cpuacct:/x\n4:memory:/a/b\n");
  write("/proc/self/mountinfo", kMountV1);
  write("/sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "5000\n");
  write("/sys/fs/cgroup/memory/a/b/memory.usage_in_bytes", "1000\n");
  write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  write("/sys/fs/cgroup/memory/memory.usage_in_bytes", "99999\n");
  EXPECT_EQ(memory_limits(root_).size(), 2u);
  EXPECT_EQ(least_left(), 4000u);
}

TEST_F(ControlGroups, HybridTakesTheLimitWhereverItIs) {
  write("/proc/self/cgroup", "4:memory:/a\n0::/user.slice\n");
  write("/proc/self/mountinfo",
        std::string(kMountV1) + "32 25 0:28 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
  write("/sys/fs/cgroup/unified/user.slice/cgroup.procs", "");
  write("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "64\n");
  write("/sys/fs/cgroup/memory/a/memory.usage_in_bytes", "65\n");
  EXPECT_EQ(least_left(), 0u);
  EXPECT_EQ(memory_limits(root_).front().group, root_ + "/sys/fs/cgroup/memory/a");
}

TEST_F(ControlGroups, AContainerSeesItsOwnGroupAsTheRoot) {
  write("/proc/self/cgroup", "4:memory:/docker/c0ffee\n");
  write("/proc/self/mountinfo",
        "31 25 0:27 /docker/c0ffee /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n");
  write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "500\n");
  write("/sys/fs/cgroup/memory/memory.usage_in_bytes", "200\n");
  EXPECT_EQ(least_left(), 300u);
}

TEST_F(ControlGroups, WithoutControlGroupsThereIsNoLimit) {
  EXPECT_TRUE(memory_limits(root_).empty());
  EXPECT_EQ(least_left(), UINT64_MAX);
}

}  // namespace
}  // namespace plat::os
