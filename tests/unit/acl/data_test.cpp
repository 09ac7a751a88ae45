// SPDX-License-Identifier: Apache-2.0
// Sizes of types, half floats, and records of buffers.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "acl/acl.h"

namespace {

constexpr aclError kNull = 100000;

TEST(DataType, SizesAreThoseOfTheDocuments) {
  const struct {
    std::initializer_list<int> types;
    size_t bytes;
  } rows[] = {
      {{-1, 13}, 0}, {{30, 29, 12, 2, 4, 34, 35, 36, 37}, 1}, {{1, 27, 6, 7}, 2}, {{0, 3, 8, 33}, 4},
      {{17}, 16},    {{9, 10, 11, 16, 38, 39, 40, 41, 5}, 8},
  };
  for (const auto& row : rows)
    for (const int type : row.types)
      EXPECT_EQ(aclDataTypeSize(static_cast<aclDataType>(type)), row.bytes) << type;
}

TEST(HalfFloat, EveryPatternComesBack) {
  for (uint32_t bits = 0; bits <= 0xFFFF; ++bits) {
    const float value = aclFloat16ToFloat(static_cast<aclFloat16>(bits));
    if (std::isnan(value))
      EXPECT_TRUE(std::isnan(aclFloat16ToFloat(aclFloatToFloat16(value)))) << bits;
    else
      EXPECT_EQ(aclFloatToFloat16(value), bits);
  }
}

TEST(HalfFloat, KnownValues) {
  EXPECT_EQ(aclFloatToFloat16(1.0F), 0x3C00);
  EXPECT_EQ(aclFloatToFloat16(-2.0F), 0xC000);
  EXPECT_EQ(aclFloatToFloat16(65504.0F), 0x7BFF);
  EXPECT_EQ(aclFloatToFloat16(1e6F), 0x7C00);
  EXPECT_EQ(aclFloatToFloat16(-std::numeric_limits<float>::infinity()), 0xFC00);
  EXPECT_EQ(aclFloat16ToFloat(0x0001), std::ldexp(1.0F, -24));
}

// Between two neighbours: to the nearer one, and from the very middle to the even one.
TEST(HalfFloat, RoundsToTheNearest) {
  for (uint32_t bits = 0; bits < 0x7BFF; ++bits) {
    const float low = aclFloat16ToFloat(static_cast<aclFloat16>(bits));
    const float high = aclFloat16ToFloat(static_cast<aclFloat16>(bits + 1));
    const float middle = low + (high - low) / 2;  // exact: a float has room for it
    EXPECT_EQ(aclFloatToFloat16(middle), bits + bits % 2);
    EXPECT_EQ(aclFloatToFloat16(std::nextafter(middle, low)), bits);
    EXPECT_EQ(aclFloatToFloat16(std::nextafter(-middle, -high)), (bits + 1) | 0x8000);
  }
  EXPECT_EQ(aclFloatToFloat16(std::nextafter(65520.0F, 0.0F)), 0x7BFF);
  EXPECT_EQ(aclFloatToFloat16(65520.0F), 0x7C00);
}

TEST(DataBuffer, KeepsWhatItIsTold) {
  char data[8];
  aclDataBuffer* buffer = aclCreateDataBuffer(data, sizeof data);
  ASSERT_NE(buffer, nullptr);
  EXPECT_EQ(aclGetDataBufferAddr(buffer), data);
  EXPECT_EQ(aclGetDataBufferSize(buffer), 8U);
  EXPECT_EQ(aclGetDataBufferSizeV2(buffer), 8U);
  EXPECT_EQ(aclUpdateDataBuffer(buffer, nullptr, (size_t{1} << 32) + 5), ACL_SUCCESS);
  EXPECT_EQ(aclGetDataBufferAddr(buffer), nullptr);
  EXPECT_EQ(aclGetDataBufferSize(buffer), 5U);
  EXPECT_EQ(aclGetDataBufferSizeV2(buffer), (size_t{1} << 32) + 5);
  EXPECT_EQ(aclDestroyDataBuffer(buffer), ACL_SUCCESS);
}

TEST(DataBuffer, MayBeEmptyAndMayBeMissing) {
  aclDataBuffer* buffer = aclCreateDataBuffer(nullptr, 0);
  ASSERT_NE(buffer, nullptr);
  EXPECT_EQ(aclDestroyDataBuffer(buffer), ACL_SUCCESS);
  EXPECT_EQ(aclDestroyDataBuffer(nullptr), kNull);
  EXPECT_EQ(aclUpdateDataBuffer(nullptr, nullptr, 0), kNull);
  EXPECT_EQ(aclGetDataBufferAddr(nullptr), nullptr);
  EXPECT_EQ(aclGetDataBufferSize(nullptr), 0U);
  EXPECT_EQ(aclGetDataBufferSizeV2(nullptr), 0U);
}

}  // namespace
