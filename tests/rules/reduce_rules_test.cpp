// SPDX-License-Identifier: Apache-2.0
// Reductions, peer maps and the flush of the cache: rules, orders, and every result computed a second time.
#include <algorithm>
#include <cstring>
#include <limits>
#include <random>
#include <thread>
#include <vector>

#include "acl/acl_data.h"
#include "rules/memory_fixture.h"

namespace plat::rule_test {
namespace {

// The sum of the two.
constexpr auto kSum = ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM;
// The larger of the two.
constexpr auto kMax = ACL_RT_MEMCPY_SDMA_AUTOMATIC_MAX;
// The smaller of the two.
constexpr auto kMin = ACL_RT_MEMCPY_SDMA_AUTOMATIC_MIN;

// aclrtReduceAsync, of float numbers and on the default stream unless it says otherwise.
aclError reduce(void* dst, const void* src, uint64_t bytes, int kind = kSum, aclDataType type = ACL_FLOAT,
                aclrtStream stream = nullptr, void* reserve = nullptr) {
  return aclrtReduceAsync(dst, src, bytes, static_cast<aclrtReduceKind>(kind), type, stream, reserve);
}

RULE_BROKEN(ReduceArguments) {
  EXPECT_OK(aclrtSetDevice(0));
  void* block = malloc_device();
  float host[2] = {};
  EXPECT_BREAKS(reduce(block, block, 0));
  EXPECT_BREAKS(reduce(block, block, 6));
  EXPECT_BREAKS(reduce(block, block, 8, 9));
  EXPECT_BREAKS(reduce(block, block, 8, 14));
  EXPECT_BREAKS(reduce(block, block, 4_GiB + 4));
  EXPECT_BREAKS(reduce(host, block, 8));
  EXPECT_BREAKS(reduce(block, host, 8));
}
RULE_KEPT(ReduceArguments) {
  EXPECT_OK(aclrtSetDevice(0));
  void* block = malloc_device();
  EXPECT_OK(reduce(block, block, 8, kMax));
  EXPECT_OK(aclrtSynchronizeStream(nullptr));
}

TEST(Reduce, LooksAtTheStreamThenTheNumbersThenTheContextThenTheMemory) {
  run({}, [] {
    float host[2] = {};
    EXPECT_EQ(reduce(host, host, 8), 107002);
    EXPECT_OK(aclrtSetDevice(0));
    aclrtStream gone = nullptr;
    EXPECT_OK(aclrtCreateStream(&gone));
    EXPECT_OK(aclrtDestroyStream(gone));
    EXPECT_EQ(aclrtReduceAsync(host, host, 0, kSum, ACL_FLOAT, gone, nullptr), 107017);
    aclrtStream stream = nullptr;
    EXPECT_OK(aclrtCreateStream(&stream));
    aclrtContext other = nullptr;
    EXPECT_OK(aclrtCreateContext(&other, 0));
    EXPECT_EQ(aclrtReduceAsync(host, host, 0, kSum, ACL_FLOAT, stream, nullptr), 107000);
    EXPECT_EQ(aclrtReduceAsync(host, host, 8, kSum, ACL_FLOAT, stream, nullptr), 107003);
  });
}

RULE_BROKEN(PeerMap) {
  EXPECT_OK(aclrtSetDevice(1));
  EXPECT_OK(aclrtSetDevice(0));
  void* block = malloc_device(2_MiB);
  EXPECT_BREAKS(aclrtMemP2PMap(block, 2_MiB, 1, 0));  // not enabled
  EXPECT_BREAKS(aclrtMemP2PMap(block, 2_MiB, 0, 0));  // its own
}
RULE_KEPT(PeerMap) {
  EXPECT_OK(aclrtSetDevice(0));
  void* block = malloc_device(2_MiB);
  EXPECT_OK(aclrtSetDevice(1));
  EXPECT_OK(aclrtDeviceEnablePeerAccess(0, 0));
  EXPECT_OK(aclrtMemP2PMap(block, 2_MiB, 1, 0));
  EXPECT_OK(aclrtMemP2PMap(block, 2_MiB, 1, 0));  // a hint, as often as one likes
}

TEST(PeerMap, ChecksInOrder) {
  run({}, [] {
    EXPECT_EQ(aclrtMemP2PMap(nullptr, 0, 9, 1), 100000);
    int local = 0;
    EXPECT_EQ(aclrtMemP2PMap(&local, 0, 9, 1), 100000);
    EXPECT_EQ(aclrtMemP2PMap(&local, 4, 9, 1), 100000);
    EXPECT_EQ(aclrtMemP2PMap(&local, 4, 9, 0), 107001);
    EXPECT_EQ(aclrtMemP2PMap(&local, 4, 1, 0), 107002);
    EXPECT_OK(aclrtSetDevice(0));
    void* freed = malloc_device(2_MiB);
    EXPECT_OK(aclrtFree(freed));
    EXPECT_EQ(aclrtMemP2PMap(freed, 2_MiB, 1, 0), 507899);
  });
  run({{"PLAT_PRODUCT", "200i-a2"}}, [] {
    EXPECT_OK(aclrtSetDevice(0));
    EXPECT_EQ(aclrtMemP2PMap(malloc_device(), 64, 1, 0), 207000);
  });
}

TEST(CacheFlush, NeedsAContextAndNothingElse) {
  run({}, [] {
    int local = 0;
    EXPECT_EQ(aclrtDeviceL2CacheFlush(&local), 100000);
    EXPECT_EQ(aclrtDeviceL2CacheFlush(nullptr), 107002);
    EXPECT_OK(aclrtSetDevice(0));
    EXPECT_OK(aclrtDeviceL2CacheFlush(nullptr));
  });
}

TEST(Reduce, ChecksInOrder) {
  run({}, [] {
    EXPECT_OK(aclrtSetDevice(0));
    void* block = malloc_device();
    EXPECT_EQ(reduce(nullptr, block, 0, 99, ACL_DOUBLE), 100000);
    EXPECT_EQ(reduce(block, nullptr, 0, 99, ACL_DOUBLE), 100000);
    EXPECT_EQ(reduce(block, block, 0, 99, ACL_FLOAT, nullptr, block), 100000);
    EXPECT_EQ(reduce(block, block, 0, 99, ACL_DOUBLE), 100000);
    EXPECT_EQ(reduce(block, block, 8, 99, ACL_INT4), 107000);
    EXPECT_EQ(reduce(block, block, 8, kSum, ACL_UINT8), 207000);
    EXPECT_EQ(reduce(block, block, 8, ACL_RT_MEMCPY_SDMA_AUTOMATIC_EQUAL), 207000);
    std::thread([&] { EXPECT_EQ(reduce(block, block, 8), 107002); }).join();
    // A range that is too long shows when the stream is waited for, and nothing was changed.
    EXPECT_OK(reduce(block, block, 1_MiB));
    EXPECT_EQ(aclrtSynchronizeStream(nullptr), 507899);
  });
}

TEST(Reduce, DoesTheTypesOfTheProduct) {
  const struct {
    const char* product;
    std::vector<aclDataType> sums;
    bool extremes;
  } rows[] = {
      {"a2", {ACL_INT8, ACL_INT16, ACL_INT32, ACL_FLOAT16, ACL_FLOAT, ACL_BF16}, true},
      {"a3", {ACL_INT8, ACL_INT16, ACL_INT32, ACL_FLOAT16, ACL_FLOAT, ACL_BF16}, true},
      {"950", {ACL_INT8, ACL_INT16, ACL_INT32, ACL_UINT32, ACL_FLOAT16, ACL_FLOAT, ACL_BF16}, true},
      {"inference", {ACL_FLOAT, ACL_FLOAT16, ACL_INT16}, false},
      {"training", {ACL_FLOAT}, false},
      {"200", {}, false},
  };
  for (const auto& row : rows)
    run({{"PLAT_PRODUCT", row.product}}, [&row] {
      EXPECT_OK(aclrtSetDevice(0));
      void* block = malloc_device();
      for (const aclDataType type : {ACL_FLOAT, ACL_FLOAT16, ACL_INT16, ACL_INT4, ACL_INT8, ACL_INT32,
                                     ACL_BF16, ACL_UINT8, ACL_UINT16, ACL_UINT32}) {
        const bool sums = std::find(row.sums.begin(), row.sums.end(), type) != row.sums.end();
        EXPECT_EQ(reduce(block, block, 64, kSum, type), sums ? 0 : 207000) << row.product << " " << type;
        EXPECT_EQ(reduce(block, block, 64, kMin, type), sums && row.extremes ? 0 : 207000) << row.product;
      }
      EXPECT_OK(aclrtSynchronizeStream(nullptr));
    });
}

// Every value against a naive computation, over several pieces and an odd start.
template <class Element, class Expected>
void check_values(aclDataType type, const Expected& expected) {
  constexpr size_t kCount = 300'000;
  std::mt19937 random(static_cast<unsigned>(type));
  std::vector<Element> one(kCount), other(kCount), result(kCount);
  for (const int kind : {int{kSum}, int{kMax}, int{kMin}}) {
    for (size_t i = 0; i < kCount; ++i) {
      const auto bits = random(), more = random();
      std::memcpy(&one[i], &bits, sizeof(Element));
      std::memcpy(&other[i], &more, sizeof(Element));
      if (sizeof(Element) == 4 && type == ACL_FLOAT) {
        one[i] = static_cast<Element>(static_cast<int>(bits % 2000) - 1000);
        other[i] = static_cast<Element>(static_cast<int>(more % 2000) - 1000);
      }
    }
    const size_t bytes = kCount * sizeof(Element);
    char* target = static_cast<char*>(malloc_device(bytes + 64)) + 64;
    char* source = static_cast<char*>(malloc_device(bytes));
    EXPECT_OK(aclrtMemcpy(target, bytes, one.data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE));
    EXPECT_OK(aclrtMemcpy(source, bytes, other.data(), bytes, ACL_MEMCPY_HOST_TO_DEVICE));
    EXPECT_OK(reduce(target, source, bytes, kind, type));
    EXPECT_OK(aclrtSynchronizeStream(nullptr));
    EXPECT_OK(aclrtMemcpy(result.data(), bytes, target, bytes, ACL_MEMCPY_DEVICE_TO_HOST));
    size_t wrong = 0;
    for (size_t i = 0; i < kCount; ++i) wrong += !expected(kind, one[i], other[i], result[i]);
    EXPECT_EQ(wrong, 0u) << "type " << type << " kind " << kind;
    EXPECT_OK(aclrtMemcpy(result.data(), bytes, source, bytes, ACL_MEMCPY_DEVICE_TO_HOST));
    EXPECT_EQ(std::memcmp(result.data(), other.data(), bytes), 0) << "the source stays";
    EXPECT_OK(aclrtFree(target - 64));
    EXPECT_OK(aclrtFree(source));
  }
}

template <class Integer>
bool same_integer(int kind, Integer one, Integer other, Integer result) {
  const int64_t wide = kind == kSum   ? int64_t{one} + int64_t{other}
                       : kind == kMax ? std::max<int64_t>(one, other)
                                      : std::min<int64_t>(one, other);
  return result == static_cast<Integer>(static_cast<uint64_t>(wide));
}

TEST(Reduce, ComputesIntegersAndFloats) {
  run({{"PLAT_PRODUCT", "950"}}, [] {
    EXPECT_OK(aclrtSetDevice(0));
    check_values<int8_t>(ACL_INT8, same_integer<int8_t>);
    check_values<int16_t>(ACL_INT16, same_integer<int16_t>);
    check_values<int32_t>(ACL_INT32, same_integer<int32_t>);
    check_values<uint32_t>(ACL_UINT32, same_integer<uint32_t>);
    check_values<float>(ACL_FLOAT, [](int kind, float one, float other, float result) {
      return result == (kind == kSum   ? one + other
                        : kind == kMax ? std::max(one, other)
                                       : std::min(one, other));
    });
  });
}

TEST(Reduce, ComputesHalfFloats) {
  run({}, [] {
    EXPECT_OK(aclrtSetDevice(0));
    check_values<uint16_t>(ACL_FLOAT16, [](int kind, uint16_t one, uint16_t other, uint16_t result) {
      const float a = aclFloat16ToFloat(one), b = aclFloat16ToFloat(other);
      const float wanted = kind == kSum ? a + b : kind == kMax ? std::max(a, b) : std::min(a, b);
      if (a != a || b != b || wanted != wanted) return true;  // no numbers
      return aclFloatToFloat16(wanted) == result;
    });
    check_values<uint16_t>(ACL_BF16, [](int kind, uint16_t one, uint16_t other, uint16_t result) {
      const auto wide = [](uint16_t half) {
        const uint32_t bits = uint32_t{half} << 16;
        float value = 0;
        std::memcpy(&value, &bits, 4);
        return value;
      };
      const float a = wide(one), b = wide(other), got = wide(result);
      const float wanted = kind == kSum ? a + b : kind == kMax ? std::max(a, b) : std::min(a, b);
      if (a != a || b != b || wanted != wanted) return true;
      if (wanted == got) return true;
      // The nearest of its kind: neither neighbour is nearer.
      const auto distance = [&](uint16_t half) { return std::abs(double{wide(half)} - double{wanted}); };
      return distance(result) <= distance(static_cast<uint16_t>(result + 1)) &&
             distance(result) <= distance(static_cast<uint16_t>(result - 1));
    });
  });
}

}  // namespace
}  // namespace plat::rule_test
