// SPDX-License-Identifier: Apache-2.0
// In which order a copy is checked, and which directions it takes: every combination of mistakes, and every
// combination of places and kinds.
#include <gtest/gtest.h>

#include <thread>

#include "rules/memory_fixture.h"

namespace plat::rule_test {
namespace {

// One bit for each thing that can be wrong, in the order in which they are looked at.
enum Mistake : unsigned {
  kNothing = 1,      // count is 0, which is fine whatever else is wrong
  kNoTarget = 2,     // dst is null
  kNoSource = 4,     // src is null
  kUnknownKind = 8,  // kind is 6, which only descriptors have
  kNoRoom = 16,      // count is more than destMax
  kSame = 32,        // dst is src
  kNoContext = 64,   // the thread has no device
  kAll = 128,
};

struct Call {
  void* dst;
  size_t room;
  const void* src;
  size_t count;
  aclrtMemcpyKind kind;
};

Call call_with(unsigned mistakes, void* device, void* host) {
  return {(mistakes & kNoTarget) != 0 ? nullptr : device, (mistakes & kNoRoom) != 0 ? size_t{8} : size_t{16},
          (mistakes & kNoSource) != 0 ? nullptr
          : (mistakes & kSame) != 0   ? device
                                      : host,
          (mistakes & kNothing) != 0 ? size_t{0} : size_t{16},
          (mistakes & kUnknownKind) != 0 ? ACL_MEMCPY_INNER_DEVICE_TO_DEVICE : ACL_MEMCPY_DEFAULT};
}

int expected_code(unsigned mistakes, bool sync) {
  if ((mistakes & kNothing) != 0) return 0;
  if ((mistakes & (kNoTarget | kNoSource | kUnknownKind)) != 0) return 100000;
  if ((mistakes & kNoRoom) != 0) return 107000;
  if (sync && (mistakes & kSame) != 0) return 0;  // before the context is looked at
  return (mistakes & kNoContext) != 0 ? 107002 : 0;
}

TEST(CopyOrder, EveryCombinationOfMistakes) {
  run({}, [] {
    Memory m;
    void* device = nullptr;
    void* pinned = nullptr;
    EXPECT_OK(aclrtMalloc(&device, 4096, ACL_MEM_MALLOC_HUGE_FIRST));
    EXPECT_OK(aclrtMallocHost(&pinned, 4096));
    for (unsigned mistakes = 0; mistakes < kAll; ++mistakes)
      for (const bool sync : {true, false}) {
        const Call call = call_with(mistakes, device, pinned);
        const auto make = [&] {
          return sync ? aclrtMemcpy(call.dst, call.room, call.src, call.count, call.kind)
                      : aclrtMemcpyAsync(call.dst, call.room, call.src, call.count, call.kind, nullptr);
        };
        aclError code = 0;
        if ((mistakes & kNoContext) != 0)
          std::thread([&] { code = make(); }).join();
        else
          code = make();
        EXPECT_EQ(code, expected_code(mistakes, sync))
            << (sync ? "sync" : "async") << ", mistakes " << mistakes << ": " << aclGetRecentErrMsg();
      }
    EXPECT_OK(aclrtSynchronizeDevice());
  });
}

// A copy that was made before is not checked less: each argument is made wrong after it worked.
TEST(CopyOrder, ACopyThatWorkedBeforeIsCheckedAgain) {
  run({}, [] {
    Memory m;
    void* device = nullptr;
    EXPECT_OK(aclrtMallocAlign32(&device, 4096, ACL_MEM_MALLOC_HUGE_FIRST));
    char host[64] = "before";
    const auto copy = [&](void* dst, size_t room, const void* src, size_t count, int kind) {
      return aclrtMemcpy(dst, room, src, count, static_cast<aclrtMemcpyKind>(kind));
    };
    const auto warm = [&] {
      for (int i = 0; i < 3; ++i) EXPECT_OK(copy(device, 64, host, 64, ACL_MEMCPY_HOST_TO_DEVICE));
    };
    warm();
    EXPECT_EQ(copy(nullptr, 64, host, 64, 1), 100000);
    EXPECT_EQ(copy(device, 64, nullptr, 64, 1), 100000);
    for (const int kind : {-1, 6, 7, 100}) EXPECT_EQ(copy(device, 64, host, 64, kind), 100000) << kind;
    EXPECT_EQ(copy(device, 63, host, 64, 1), 107000);
    EXPECT_EQ(copy(device, 0, host, 64, 1), 107000);
    EXPECT_EQ(copy(offset(device, 4033), 64, host, 64, 1), 507899) << "past the end";
    EXPECT_EQ(copy(offset(device, -1), 64, host, 64, 1), 507899) << "before the start";
    EXPECT_EQ(copy(device, 64, m.va, 64, 4), 507899) << "from a hole";
    EXPECT_EQ(copy(m.va, 64, device, 64, 4), 507899) << "to a hole";
    warm();
    std::thread([&] { EXPECT_EQ(copy(device, 64, host, 64, 1), 107002); }).join();
    aclrtContext context = nullptr, other = nullptr;
    EXPECT_OK(aclrtGetCurrentContext(&context));
    EXPECT_OK(aclrtCreateContext(&other, 0));
    EXPECT_OK(copy(device, 64, host, 64, 1));
    EXPECT_OK(aclrtDestroyContext(other));
    EXPECT_EQ(copy(device, 64, host, 64, 1), 107002) << "its context is gone";
    EXPECT_OK(aclrtSetCurrentContext(context));
    warm();
    EXPECT_OK(aclrtFree(device));
    EXPECT_EQ(copy(device, 64, host, 64, 1), 507899) << "freed";
    EXPECT_EQ(copy(host, 64, device, 64, 2), 507899) << "freed";
  });
}

TEST(CopyOrder, MappedMemoryThatWorkedBeforeIsCheckedAgain) {
  run({}, [] {
    Memory m;
    m.map();
    char host[64] = "mapped", back[64] = {};
    for (int i = 0; i < 3; ++i) EXPECT_OK(aclrtMemcpy(m.va, 64, host, 64, ACL_MEMCPY_HOST_TO_DEVICE));
    EXPECT_OK(aclrtUnmapMem(m.va));
    EXPECT_EQ(aclrtMemcpy(m.va, 64, host, 64, ACL_MEMCPY_HOST_TO_DEVICE), 507899);
    EXPECT_OK(aclrtMemMapNoAccess(m.va, 2_MiB, 0, m.handle, 0));
    EXPECT_EQ(aclrtMemcpy(m.va, 64, host, 64, ACL_MEMCPY_HOST_TO_DEVICE), 507899) << "without access";
    EXPECT_OK(aclrtUnmapMem(m.va));
    EXPECT_OK(aclrtMapMem(offset(m.va, 2_MiB), 2_MiB, 0, m.handle, 0));
    EXPECT_EQ(aclrtMemcpy(m.va, 64, host, 64, ACL_MEMCPY_HOST_TO_DEVICE), 507899) << "mapped elsewhere";
    EXPECT_OK(aclrtMemcpy(back, 64, offset(m.va, 2_MiB), 64, ACL_MEMCPY_DEVICE_TO_HOST));
    EXPECT_STREQ(back, "mapped");
  });
}

// -- Places and kinds of an asynchronous copy

enum class Spot { Board, Host, Unknown };

// What the documents say; -1: not in their table, because DEFAULT and known places always work out.
int expected_direction(Spot source, Spot target, int kind) {
  constexpr int kRefused = 107000, kOnHost = 207000;
  const bool known = source != Spot::Unknown && target != Spot::Unknown;
  const bool on_host = source != Spot::Board && target != Spot::Board;
  if (kind == 5) return source != Spot::Board && target == Spot::Board ? 0 : kRefused;
  if (known || kind == 4) return on_host ? kOnHost : 0;
  if (target == Spot::Board) return kind == 1 || kind == 3 ? 0 : kRefused;
  if (source == Spot::Board) return kind == 2 || kind == 3 ? 0 : kRefused;
  if (source == Spot::Host) return kind == 0 ? kOnHost : kind == 1 ? 0 : kRefused;
  if (target == Spot::Host) return kind == 0 ? kOnHost : kind == 2 ? 0 : kRefused;
  return kind == 0 ? kOnHost : 0;
}

TEST(CopyOrder, EveryPlaceAndKindOfAnAsynchronousCopy) {
  run({}, [] {
    Memory m;
    aclrtStream stream = nullptr;
    EXPECT_OK(aclrtCreateStream(&stream));
    void* device = nullptr;
    void* pinned = nullptr;
    EXPECT_OK(aclrtMalloc(&device, 4096, ACL_MEM_MALLOC_HUGE_FIRST));
    EXPECT_OK(aclrtMallocHost(&pinned, 4096));
    alignas(64) char unknown[256] = {};
    const auto at = [&](Spot spot, size_t bytes) {
      return offset(spot == Spot::Board ? device : spot == Spot::Host ? pinned : unknown, bytes);
    };
    for (const Spot source : {Spot::Board, Spot::Host, Spot::Unknown})
      for (const Spot target : {Spot::Board, Spot::Host, Spot::Unknown})
        for (int kind = 0; kind <= 5; ++kind) {
          const aclError code = aclrtMemcpyAsync(at(target, 64), 16, at(source, 0), 16,
                                                 static_cast<aclrtMemcpyKind>(kind), stream);
          EXPECT_EQ(code, expected_direction(source, target, kind))
              << "from " << static_cast<int>(source) << " to " << static_cast<int>(target) << ", kind "
              << kind << ": " << aclGetRecentErrMsg();
        }
    // Two addresses on the host that are one: refused before it is seen that there is nothing to do.
    EXPECT_EQ(aclrtMemcpyAsync(pinned, 16, pinned, 16, ACL_MEMCPY_DEFAULT, stream), 207000);
    EXPECT_OK(aclrtMemcpyAsync(device, 16, device, 16, ACL_MEMCPY_DEFAULT, stream));
    EXPECT_OK(aclrtSynchronizeStream(stream));
  });
}

// The same for synchronous copies: the addresses decide, and a wrong kind among 0 to 4 does not fail.
TEST(CopyOrder, AddressesDecideADirectionThatIsSynchronous) {
  run({}, [] {
    Memory m;
    void* device = nullptr;
    EXPECT_OK(aclrtMalloc(&device, 4096, ACL_MEM_MALLOC_HUGE_FIRST));
    for (int round = 0; round < 3; ++round)  // the first one meets memory that was never written
      for (int kind = 0; kind <= 4; ++kind) {
        char in[16] = "direction", out[16] = {};
        EXPECT_OK(aclrtMemcpy(device, 16, in, 16, static_cast<aclrtMemcpyKind>(kind)));
        EXPECT_OK(aclrtMemcpy(out, 16, device, 16, static_cast<aclrtMemcpyKind>(kind)));
        EXPECT_STREQ(out, in) << kind;
        EXPECT_OK(aclrtMemcpy(out, 16, "on the host", 12, static_cast<aclrtMemcpyKind>(kind)));
        EXPECT_STREQ(out, "on the host") << kind;
      }
  });
}

}  // namespace
}  // namespace plat::rule_test
