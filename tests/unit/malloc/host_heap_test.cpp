// Host memory that the device knows, and that it forgets in time.
#include "malloc/host_heap.h"

#include <gtest/gtest.h>

#include <thread>

#include "rules/rules.h"

namespace plat::memory {
namespace {

TEST(HostHeap, FindsWhatLiesInsideABlock) {
  HostHeap heap;
  auto* const block = static_cast<char*>(heap.allocate(100).value());
  EXPECT_EQ(heap.find(va_of(block))->start, va_of(block));
  EXPECT_EQ(heap.find(va_of(block + 99))->start, va_of(block));
  EXPECT_TRUE(heap.find(va_of(block + 127)));  // rounded up to 32
  EXPECT_FALSE(heap.find(va_of(block + 128)));
  EXPECT_TRUE(heap.free(block));
}

// Each thread remembers what it found last.
TEST(HostHeap, WhatAnotherThreadFreesIsNotFoundAnyMore) {
  HostHeap heap;
  void* const block = heap.allocate(4096).value();
  ASSERT_TRUE(heap.find(va_of(block)));
  std::thread([&] { EXPECT_TRUE(heap.free(block)); }).join();
  EXPECT_FALSE(heap.find(va_of(block)));
}

TEST(HostHeap, WhatWasUnregisteredIsNotFoundAnyMore) {
  HostHeap heap;
  alignas(4096) static char page[4096];
  ASSERT_TRUE(heap.add(page, sizeof(page), true));
  ASSERT_TRUE(heap.find(va_of(page + 8)));
  ASSERT_TRUE(heap.remove(page));
  EXPECT_FALSE(heap.find(va_of(page + 8)));
}

TEST(HostHeap, HeapsDoNotShareWhatAThreadRemembers) {
  HostHeap one;
  void* const block = one.allocate(64).value();
  ASSERT_TRUE(one.find(va_of(block)));
  HostHeap two;
  EXPECT_FALSE(two.find(va_of(block)));
  EXPECT_TRUE(one.free(block));
}

// A program that frees memory without unregistering it may get the same addresses again, from us.
TEST(HostHeap, ABlockReplacesAForgottenRegistration) {
  HostHeap heap;
  char* const everything = reinterpret_cast<char*>(uintptr_t{4096});
  ASSERT_TRUE(heap.add(everything, (uint64_t{1} << 47) - 8192, true));
  void* const block = heap.allocate(64).value();
  EXPECT_TRUE(heap.find(va_of(block))->what.allocated);
  EXPECT_FALSE(heap.find(va_of(everything)));
  EXPECT_EQ(heap.remove(everything).error().rule, RuleId::HostUnregisterUnknown);
  EXPECT_TRUE(heap.free(block));
}

}  // namespace
}  // namespace plat::memory
