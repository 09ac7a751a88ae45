// SPDX-License-Identifier: Apache-2.0
// Copies of memory that is not there fail, those of memory that is there are what memcpy does.
#include "os/guard.h"

#include <gtest/gtest.h>
#include <setjmp.h>
#include <sys/mman.h>

#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "os/page.h"
#include "os/signal_chain.h"

namespace plat::os {
namespace {

const size_t kPage = kernel_page_bytes();
// More than any copy here runs on, so that none reaches what is not ours: a sanitizer looks at the whole
// range.
const size_t kHole = 16 * kPage;

struct Guard : testing::Test {
  static void SetUpTestSuite() {
    put_in_front(SIGSEGV, recover_fault);
    put_in_front(SIGBUS, recover_fault);
  }
  static bool recover_fault(int signal, siginfo_t* info, void* context) {
    return recover(signal, info, context);
  }
  // `room` bytes that can be used, and behind them some that cannot.
  static char* before_a_hole(size_t room) {
    const size_t pages = (room + kPage - 1) / kPage;
    auto* start = static_cast<char*>(
        mmap(nullptr, pages * kPage + kHole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(start + pages * kPage, kHole, PROT_NONE);
    return start + pages * kPage - room;
  }
};

TEST_F(Guard, CopiesOfEveryShortSizeAreExact) {
  std::mt19937 random(1);
  std::vector<char> source(24576), target(source.size()), expected(source.size());
  for (char& byte : source) byte = static_cast<char>(random());
  for (size_t size = 0; size < 1200; ++size)
    for (const size_t shift : {0, 1, 33}) {
      std::fill(target.begin(), target.end(), 'x');
      expected = target;
      std::memcpy(expected.data() + shift, source.data() + 7, size);
      ASSERT_TRUE(copy(target.data() + shift, source.data() + 7, size));
      ASSERT_EQ(target, expected) << size;
    }
  for (const size_t size : {4096, 16383, 16384, 16385, 20480}) {
    ASSERT_TRUE(copy(target.data(), source.data(), size));
    ASSERT_EQ(std::memcmp(target.data(), source.data(), size), 0) << size;
  }
}

TEST_F(Guard, NothingBesideTheRangesIsTouched) {
  for (size_t size = 1; size < 600; ++size) {
    char* source = before_a_hole(size);
    char* target = before_a_hole(size);
    ASSERT_TRUE(copy(target, source, size)) << size;
    munmap(reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(source) / kPage * kPage), kPage + kHole);
    munmap(reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(target) / kPage * kPage), kPage + kHole);
  }
}

TEST_F(Guard, AHoleEndsTheCopy) {
  std::vector<char> there(kPage * 16, 1);
  for (const size_t size : {1, 3, 7, 15, 31, 64, 100, 129, 4000, 16384, 20000, 60000}) {
    char* half = before_a_hole(size / 2);
    const auto hole = reinterpret_cast<uint64_t>(half + size / 2);
    EXPECT_FALSE(copy(half, there.data(), size)) << size;
    EXPECT_EQ(last_fault().signal, SIGSEGV);
    EXPECT_EQ(last_fault().address / kPage, hole / kPage) << size;
    EXPECT_FALSE(copy(there.data(), half, size)) << size;
    EXPECT_FALSE(move(there.data(), half, size)) << size;
    EXPECT_FALSE(fill(half, 3, size)) << size;
    EXPECT_TRUE(copy(there.data(), there.data() + kPage * 8, size > kPage * 8 ? 1 : size));
  }
}

TEST_F(Guard, ReadOnlyMemoryCanBeReadAndNotWritten) {
  char* page = before_a_hole(kPage);
  mprotect(page, kPage, PROT_READ);
  char other[64] = {};
  EXPECT_TRUE(copy(other, page, sizeof(other)));
  EXPECT_FALSE(copy(page, other, sizeof(other)));
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // they look at the address themselves
TEST_F(Guard, ANumberThatIsNoAddressFaultsToo) {
  char other[64] = {};
  auto* nonsense = reinterpret_cast<char*>(uintptr_t{0xdeadbeefdeadbeef});
  EXPECT_FALSE(copy(other, nonsense, sizeof(other)));
  EXPECT_FALSE(copy_long(nonsense, other, sizeof(other)));
}
#endif

TEST_F(Guard, RegistersOfTheCallerSurviveAFault) {
  std::vector<char> there(kPage * 16, 1);
  uint64_t sum = 0;
  char* half = before_a_hole(16);
  for (uint64_t i = 0; i < 1000; ++i) {
    const uint64_t a = i * 3, b = i ^ 0x55, c = i + 7, d = i << 2, e = ~i;
    EXPECT_FALSE(copy(half, there.data(), i % 2 == 0 ? 64 : 20000));
    sum += (a - i * 3) + (b - (i ^ 0x55)) + (c - (i + 7)) + (d - (i << 2)) + (e - ~i);
  }
  EXPECT_EQ(sum, 0u);
}

TEST_F(Guard, ThreadsDoNotSeeEachOthersFaults) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([] {
      char other[256] = {};
      char* half = before_a_hole(100);
      for (int round = 0; round < 500; ++round) {
        EXPECT_FALSE(copy(other, half, sizeof(other)));
        EXPECT_EQ(last_fault().address / kPage, reinterpret_cast<uint64_t>(half + 100) / kPage);
      }
    });
  for (auto& thread : threads) thread.join();
}

// The handler may have been called by another one, with the signal blocked.
TEST_F(Guard, NothingStaysBlocked) {
  char other[64] = {};
  char* half = before_a_hole(10);
  for (int round = 0; round < 3; ++round) EXPECT_FALSE(copy(other, half, sizeof(other)));
  sigset_t now;
  pthread_sigmask(SIG_BLOCK, nullptr, &now);
  EXPECT_EQ(sigismember(&now, SIGSEGV), 0);
}

sigjmp_buf leave_to;
bool was_recovered = false;
void jump_out(int, siginfo_t*, void*) { siglongjmp(leave_to, 1); }
void try_and_jump_out(int signal, siginfo_t* info, void* context) {
  was_recovered = recover(signal, info, context);
  siglongjmp(leave_to, 1);
}

// A handler that the program installed later gets the fault first. Once it has left the copy by a jump, the
// copy is no more: a fault of the program's own, at the same address, is the program's.
TEST_F(Guard, ACopyThatWasJumpedOutOfIsOver) {
  std::vector<char> other(60000);
  char* const half = before_a_hole(100);
  struct sigaction action {};
  struct sigaction before {};
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  for (const size_t size : {64, 1000, 20000, 60000}) {
    action.sa_sigaction = jump_out;
    ASSERT_EQ(sigaction(SIGSEGV, &action, &before), 0);
    if (sigsetjmp(leave_to, 1) == 0) {
      copy(other.data(), half + 90, size);
      ADD_FAILURE() << "the hole was copied";
    }
    action.sa_sigaction = try_and_jump_out;
    ASSERT_EQ(sigaction(SIGSEGV, &action, nullptr), 0);
    was_recovered = true;
    if (sigsetjmp(leave_to, 1) == 0) *const_cast<volatile char*>(half + 100) = 1;
    EXPECT_FALSE(was_recovered) << size;
    ASSERT_EQ(sigaction(SIGSEGV, &before, nullptr), 0);
    EXPECT_FALSE(copy(other.data(), half + 90, size)) << "and copies are as before";
    EXPECT_TRUE(copy(other.data(), half, 100));
  }
}

#if defined(__aarch64__)
// The processor ignores the highest byte of a pointer; a fault is told in the words of who called.
TEST_F(Guard, ATaggedPointerIsThePlaceItPointsTo) {
  char other[256] = {};
  char* half = before_a_hole(100);
  const uint64_t tag = uint64_t{0x5A} << 56;
  auto* tagged = reinterpret_cast<char*>(reinterpret_cast<uint64_t>(half) | tag);
  half[7] = 'x';
  EXPECT_TRUE(copy(other, tagged, 100));
  EXPECT_EQ(other[7], 'x');
  EXPECT_FALSE(copy(other, tagged, sizeof other));
  EXPECT_LT(last_fault().address - reinterpret_cast<uint64_t>(tagged), sizeof other);
  EXPECT_FALSE(move(tagged, other, sizeof other));
  EXPECT_LT(last_fault().address - reinterpret_cast<uint64_t>(tagged), sizeof other);
}
#endif

}  // namespace
}  // namespace plat::os
