// SPDX-License-Identifier: Apache-2.0
#include "os/packets.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <vector>

#include "support/directory.h"

namespace plat::os {
namespace {

TEST(Packets, NobodyWaitsForEverForWhoTakesNoConnection) {
  const test::Directory folder;
  const std::string path = std::string(folder.path()) + "/socket";
  const Fd listener = listen_at(path);
  ASSERT_TRUE(listener);
  std::vector<Fd> taken;
  Fd last;
  do {
    last = connect_to(path, 50);
    if (last) taken.push_back(std::move(last));
  } while (taken.size() < 1000 && errno != EAGAIN);
  EXPECT_EQ(errno, EAGAIN);
  EXPECT_LT(taken.size(), 1000u);
  EXPECT_GT(taken.size(), 100u);
}

TEST(Packets, NobodyListensIsSomethingElse) {
  const test::Directory folder;
  EXPECT_FALSE(connect_to(std::string(folder.path()) + "/socket", 50));
  EXPECT_EQ(errno, ENOENT);
}

}  // namespace
}  // namespace plat::os
