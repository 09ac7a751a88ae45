// SPDX-License-Identifier: Apache-2.0
// Every form of a copy moves the same bytes, both ways; and the forms whose checks differ have them.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <map>

#include "acl/ops/acl_dvpp.h"
#include "rules/memory_fixture.h"

namespace plat::rule_test {
namespace {

constexpr size_t kBytes = 96;

struct Ends {
  void* to;
  void* from;
  aclrtMemcpyKind kind;
  aclrtStream stream;
};

aclrtMemcpyBatchAttr batch_attribute(const Ends& ends) {
  const aclrtMemLocation host{0, ACL_MEM_LOCATION_TYPE_HOST}, device{0, ACL_MEM_LOCATION_TYPE_DEVICE};
  aclrtMemcpyBatchAttr attribute{};
  const bool to_device = ends.kind == ACL_MEMCPY_HOST_TO_DEVICE;
  attribute.dstLoc = to_device ? device : host;
  attribute.srcLoc = to_device ? host : device;
  return attribute;
}

// Two entries, of unlike length.
struct BatchCall {
  explicit BatchCall(const Ends& ends)
      : to{ends.to, offset(ends.to, 32)},
        from{ends.from, offset(ends.from, 32)},
        attribute{batch_attribute(ends), batch_attribute(ends), batch_attribute(ends)} {}
  void* to[2];
  void* from[2];
  size_t room[2] = {32, kBytes};
  size_t size[2] = {32, kBytes - 32};
  size_t first[3] = {0, 1, 2};
  size_t failed = 0;
  aclrtMemcpyBatchAttr attribute[3];
};

const std::map<std::string, std::function<aclError(const Ends&)>> kForms = {
    {"now", [](const Ends& e) { return aclrtMemcpy(e.to, kBytes, e.from, kBytes, e.kind); }},
    {"async", [](const Ends& e) { return aclrtMemcpyAsync(e.to, kBytes, e.from, kBytes, e.kind, e.stream); }},
    {"with condition",
     [](const Ends& e) {
       return aclrtMemcpyAsyncWithCondition(e.to, kBytes, e.from, kBytes, e.kind, e.stream);
     }},
    {"rows", [](const Ends& e) { return aclrtMemcpy2d(e.to, 32, e.from, 32, 32, 3, e.kind); }},
    {"rows, async",
     [](const Ends& e) { return aclrtMemcpy2dAsync(e.to, 32, e.from, 32, 32, 3, e.kind, e.stream); }},
    {"batch",
     [](const Ends& e) {
       BatchCall b(e);
       return aclrtMemcpyBatch(b.to, b.room, b.from, b.size, 2, b.attribute, b.first, 1, &b.failed);
     }},
    {"batch V2",
     [](const Ends& e) {
       BatchCall b(e);
       return aclrtMemcpyBatchV2(b.to, b.room, b.from, b.size, 2, b.attribute, b.first, 1);
     }},
    {"batch, async",
     [](const Ends& e) {
       BatchCall b(e);
       return aclrtMemcpyBatchAsync(b.to, b.room, b.from, b.size, 2, b.attribute, b.first, 1, &b.failed,
                                    e.stream);
     }},
    {"batch, async V2",
     [](const Ends& e) {
       BatchCall b(e);
       return aclrtMemcpyBatchAsyncV2(b.to, b.room, b.from, b.size, 2, b.attribute, b.first, 1, e.stream);
     }},
};

TEST(CopyForms, AllMoveTheSameBytes) {
  run({}, [] {
    Memory m;
    aclrtStream stream = nullptr;
    void *device = nullptr, *in = nullptr, *out = nullptr;
    EXPECT_OK(aclrtCreateStream(&stream));
    EXPECT_OK(aclrtMalloc(&device, 4096, ACL_MEM_MALLOC_HUGE_FIRST));
    EXPECT_OK(aclrtMallocHost(&in, kBytes));
    EXPECT_OK(aclrtMallocHost(&out, kBytes));
    int round = 0;
    for (const auto& [to_name, to_device] : kForms)
      for (const auto& [from_name, from_device] : kForms) {
        std::memset(in, ++round, kBytes);
        std::memset(out, 0, kBytes);
        EXPECT_OK(to_device({device, in, ACL_MEMCPY_HOST_TO_DEVICE, stream}));
        EXPECT_OK(aclrtSynchronizeStream(stream));
        EXPECT_OK(from_device({out, device, ACL_MEMCPY_DEVICE_TO_HOST, stream}));
        EXPECT_OK(aclrtSynchronizeStream(stream));
        EXPECT_EQ(std::memcmp(in, out, kBytes), 0) << to_name << ", then " << from_name;
      }
  });
}

// The addresses are read when the copy runs, from memory of the device.
TEST(CopyForms, OffsetsAreAddedToAddressesInDeviceMemory) {
  run({}, [] {
    Memory m;
    void *source = nullptr, *target = nullptr, *pointers = nullptr;
    for (void** block : {&source, &target, &pointers})
      EXPECT_OK(aclrtMalloc(block, 4096, ACL_MEM_MALLOC_HUGE_FIRST));
    const char text[] = "at an offset";
    EXPECT_OK(aclrtMemcpy(offset(source, 100), 64, text, sizeof(text), ACL_MEMCPY_HOST_TO_DEVICE));
    void* const both[] = {target, source};
    EXPECT_OK(aclrtMemcpy(pointers, 64, both, sizeof(both), ACL_MEMCPY_HOST_TO_DEVICE));
    auto** to = static_cast<void**>(pointers);
    auto** from = reinterpret_cast<const void**>(offset(pointers, 8));
    EXPECT_OK(aclrtMemcpyAsyncWithOffset(to, 4096, 200, from, sizeof(text), 100, ACL_MEMCPY_DEVICE_TO_DEVICE,
                                         nullptr));
    EXPECT_OK(aclrtSynchronizeStream(nullptr));
    char back[sizeof(text)] = {};
    EXPECT_OK(aclrtMemcpy(back, sizeof(back), offset(target, 200), sizeof(text), ACL_MEMCPY_DEVICE_TO_HOST));
    EXPECT_STREQ(back, text);
  });
}

TEST(CopyForms, BatchesSayWhichEntryWasWrong) {
  run({}, [] {
    Memory m;
    void *device = nullptr, *pinned = nullptr;
    EXPECT_OK(aclrtMalloc(&device, 4096, ACL_MEM_MALLOC_HUGE_FIRST));
    EXPECT_OK(aclrtMallocHost(&pinned, kBytes));
    const auto batch = [&](const std::function<void(BatchCall&)>& spoil, size_t& failed, size_t count = 2,
                           size_t attributes = 1) {
      BatchCall b({device, pinned, ACL_MEMCPY_HOST_TO_DEVICE, nullptr});
      spoil(b);
      const aclError code =
          aclrtMemcpyBatch(b.to, b.room, b.from, b.size, count, b.attribute, b.first, attributes, &b.failed);
      failed = b.failed;
      return code;
    };
    size_t failed = 0;
    const auto nothing = [](BatchCall&) {};
    EXPECT_OK(batch(nothing, failed));
    EXPECT_EQ(batch([](BatchCall& b) { b.room[1] = 1; }, failed), 100000);
    EXPECT_EQ(failed, 1U);
    EXPECT_EQ(batch(nothing, failed, 0), 100000);
    EXPECT_EQ(failed, SIZE_MAX);
    EXPECT_EQ(batch([](BatchCall& b) { b.attribute[0].rsv[15] = 1; }, failed), 100000);
    EXPECT_EQ(batch([](BatchCall& b) { b.first[0] = 1; }, failed), 107000);
    EXPECT_EQ(batch(nothing, failed, 2, 0), 107000);
    EXPECT_EQ(batch(nothing, failed, 2, 3), 107000);
    EXPECT_NE(batch([](BatchCall& b) { std::swap(b.to[1], b.from[1]); }, failed), ACL_SUCCESS);
    EXPECT_EQ(failed, 1U) << "one direction for all";
    EXPECT_OK(batch([](BatchCall& b) { b.size[0] = b.size[1] = 0; }, failed));
  });
}

// Calls that take a configuration or wait first, and otherwise are as their plain sisters.
TEST(CopyForms, SisterCallsDoTheSame) {
  run({}, [] {
    Memory m;
    void* block = nullptr;
    EXPECT_OK(acldvppMallocWithCfg(&block, 4096, nullptr));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % 128, 0U);
    EXPECT_OK(acldvppFree(block));
    EXPECT_OK(aclrtMallocHost(&block, 64));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % 64, 0U);
    EXPECT_OK(aclrtFreeHostWithDevSync(block));
    EXPECT_EQ(aclrtFreeHost(block), 107000);
    EXPECT_OK(aclrtMalloc(&block, 64, ACL_MEM_MALLOC_HUGE_FIRST));
    EXPECT_OK(aclrtFreeWithDevSync(block));
    EXPECT_EQ(aclrtFree(block), 107000);
    size_t size = 0;
    EXPECT_OK(aclrtCmoGetDescSize(&size));
    EXPECT_GT(size, 0U);
    EXPECT_EQ(aclrtCmoGetDescSize(nullptr), 100000);
  });
}

}  // namespace
}  // namespace plat::rule_test
