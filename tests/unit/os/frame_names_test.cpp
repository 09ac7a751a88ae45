// SPDX-License-Identifier: Apache-2.0
#include "os/frame_names.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>

namespace plat::os {
namespace {

constexpr char kFile[] = "frame_names_test.cpp:";

bool has_libdw() { return dlopen("libdw.so.1", RTLD_NOW | RTLD_LOCAL) != nullptr; }

std::string written(std::span<void* const> frames) {
  int ends[2];
  if (pipe(ends) != 0) return "no pipe";
  const bool done = write_frame_names(frames, "  ", ends[1]);
  close(ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t got = 0; (got = read(ends[0], buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<size_t>(got));
  close(ends[0]);
  return done ? text : "not done";
}

class FrameNames : public testing::Test {
 protected:
  FrameNames() : frames_(64) { frames_.resize(static_cast<size_t>(backtrace(frames_.data(), 64))); }
  std::vector<void*> frames_;
};

TEST_F(FrameNames, AreALineForEachFrame) {
  const std::string text = name_frames(frames_, "  ");
  EXPECT_GE(std::count(text.begin(), text.end(), '\n'), 3) << text;
  EXPECT_TRUE(text.starts_with("  "));
  EXPECT_TRUE(!has_libdw() || text.find(kFile) != std::string::npos) << text;
}

TEST_F(FrameNames, AreTheSameFromAChild) {
#ifdef __SANITIZE_THREAD__  // which would report the child
  EXPECT_EQ(written(frames_), "not done");
#else
  EXPECT_EQ(written(frames_), name_frames(frames_, "  "));
#endif
}

// Here by a pipe that nobody reads; in a process that faulted, by a lock whose holder is not in the child.
TEST_F(FrameNames, OfAChildThatStandsStillAreGivenUp) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_NONBLOCK), 0);
  const char full[4096] = {};
  while (write(ends[1], full, sizeof full) > 0) {
  }
  ASSERT_EQ(fcntl(ends[1], F_SETFL, 0), 0);
  EXPECT_FALSE(write_frame_names(frames_, "  ", ends[1]));
  close(ends[0]);
  close(ends[1]);
}

TEST_F(FrameNames, OfNoCodeAreAddresses) {
  void* const frames[] = {reinterpret_cast<void*>(0x1000), nullptr};
  EXPECT_EQ(name_frames(frames, ""), "0x1000\n0x0\n");
  EXPECT_EQ(name_frames({}, ""), "");
}

}  // namespace
}  // namespace plat::os
