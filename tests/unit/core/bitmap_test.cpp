// SPDX-License-Identifier: Apache-2.0
#include "core/bitmap.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace plat::core {
namespace {

// What the words say, bit by bit.
struct Plain {
  std::vector<bool> bits;

  std::optional<uint32_t> find_clear(uint32_t hint) const {
    const auto count = static_cast<uint32_t>(bits.size());
    for (uint32_t i = 0; i < count; ++i)
      if (!bits[(hint + i) % count]) return (hint + i) % count;
    return std::nullopt;
  }
  bool is_clear_run(uint32_t start, uint32_t length) const {
    for (uint32_t i = start; i < start + length; ++i)
      if (i >= bits.size() || bits[i]) return false;
    return true;
  }
  std::optional<uint32_t> find_run(uint32_t length, uint32_t hint) const {
    for (uint32_t start = hint; start + length <= bits.size(); ++start)
      if (is_clear_run(start, length)) return start;
    for (uint32_t start = 0; start < hint && start + length <= bits.size(); ++start)
      if (is_clear_run(start, length)) return start;
    return std::nullopt;
  }
};

TEST(Bitmap, SetsTestsAndClears) {
  std::vector<uint64_t> words(2);
  set_bit(words, 0);
  set_bit(words, 63);
  set_bit(words, 64);
  EXPECT_TRUE(test_bit(words, 63));
  EXPECT_FALSE(test_bit(words, 62));
  clear_bit(words, 63);
  EXPECT_FALSE(test_bit(words, 63));
  EXPECT_EQ(words[1], 1u);
}

TEST(Bitmap, IgnoresBitsBehindTheEnd) {
  std::vector<uint64_t> words(1, 0x3FF);  // ten bits, all set; the rest of the word is nobody's
  EXPECT_FALSE(find_clear(words, 10, 0));
  EXPECT_FALSE(find_clear_run(words, 10, 1, 0));
  clear_bit(words, 9);
  EXPECT_EQ(find_clear(words, 10, 0), 9u);
  EXPECT_FALSE(find_clear_run(words, 10, 2, 0));
}

TEST(Bitmap, HintsAnywhereAreHarmless) {
  std::vector<uint64_t> words(1);
  EXPECT_EQ(find_clear(words, 64, 64), 0u);
  EXPECT_EQ(find_clear(words, 64, 4'000'000'000u), 0u);
  EXPECT_EQ(find_clear_run(words, 64, 64, 63), 0u);
  EXPECT_FALSE(find_clear_run(words, 64, 65, 0));
  EXPECT_FALSE(find_clear_run(words, 64, 0, 0));
  EXPECT_FALSE(find_clear_run(words, 64, UINT32_MAX, 63));
}

TEST(Bitmap, AgreesWithANaiveSearch) {
  std::mt19937 random(11);
  for (int trial = 0; trial < 3000; ++trial) {
    const uint32_t count = 1 + random() % 300;
    const uint32_t density = random() % 101;
    std::vector<uint64_t> words((count + 63) / 64);
    Plain naive{std::vector<bool>(count)};
    for (uint32_t i = 0; i < count; ++i) {
      if (random() % 100 >= density) continue;
      set_bit(words, i);
      naive.bits[i] = true;
    }
    const uint32_t hint = random() % count;
    const uint32_t length = 1 + random() % 9;
    ASSERT_EQ(find_clear(words, count, hint), naive.find_clear(hint)) << "trial " << trial;
    ASSERT_EQ(find_clear_run(words, count, length, hint), naive.find_run(length, hint)) << "trial " << trial;
  }
}

}  // namespace
}  // namespace plat::core
