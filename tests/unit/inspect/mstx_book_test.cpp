// SPDX-License-Identifier: Apache-2.0
// Heaps and regions after a mistake, and what is left of pools.
#include <gtest/gtest.h>

#include "made_up_trace.h"

namespace plat::inspect {
namespace {

using Rules = std::vector<std::string>;

constexpr uint64_t kBlock = 0x100000;

class Pool : public test::MadeUpTrace {
 public:
  Pool() {
    apply(Op::aclrtMalloc, {kBlock, 4096, 0});
    apply(Op::aclrtMemset, {kBlock, 4096, 0});
    apply(Op::mstxDomainCreate, {5}, "pool");
    apply(Op::mstxDomainCreate, {6}, "other");
    apply(Op::mstxMemHeapRegister, {5, 1, 0, kBlock, 4096});
  }
  Pool& region(uint64_t number, uint64_t offset, uint64_t size) {
    apply(Op::mstxMemRegionsRegister, {5, 1, number, 0, kBlock + offset, size});
    return *this;
  }
  Pool& unregister(uint64_t number) {
    apply(Op::mstxMemRegionsUnregister, {5, 1, number});
    return *this;
  }
  Pool& write(uint64_t offset, uint64_t size) {
    apply(Op::aclrtMemset, {kBlock + offset, size, 0});
    return *this;
  }
  Pool& read(uint64_t offset, uint64_t size) {
    apply(Op::aclrtMemcpy, {0x10, kBlock + offset, size, 0, 2});
    return *this;
  }
  Pool& end_heap() {
    apply(Op::mstxMemHeapUnregister, {5, 1});
    return *this;
  }
  Pool& free() {
    apply(Op::aclrtFree, {kBlock});
    return *this;
  }
};

TEST(AfterAMistake, OverlappingRegionsAreOneFinding) {
  for (const bool older_first : {true, false}) {
    Pool pool;
    pool.region(10, 0, 256).write(0, 256).region(11, 128, 256);
    pool.read(0, 256).write(128, 256).read(300, 64);
    pool.unregister(older_first ? 10 : 11).read(0, 384).write(128, 64);
    pool.unregister(older_first ? 11 : 10).end_heap().free().end();
    EXPECT_EQ(pool.rules(), Rules{"INSP-Mstx-region-overlap"});
  }
}

TEST(AfterAMistake, ARegionThatIsToldTwiceIsOneFindingByPointersToo) {
  Pool pool;
  pool.region(10, 0, 256).write(0, 256).region(11, 0, 256).read(0, 256);
  pool.apply(Op::mstxMemRegionsUnregister, {5, 0, 0, kBlock})
      .apply(Op::mstxMemRegionsUnregister, {5, 0, 0, kBlock});
  pool.end_heap().free().end();
  EXPECT_EQ(pool.rules(), Rules{"INSP-Mstx-region-overlap"});
}

TEST(AfterAMistake, TheRestOfTheHeapIsJudgedAsBefore) {
  Pool pool;
  pool.region(10, 0, 256).region(11, 128, 256).write(1024, 64);
  EXPECT_EQ(pool.rules(), (Rules{"INSP-Mstx-region-overlap", "INSP-Access-outside-regions"}));
}

TEST(AfterAMistake, AHeapThatIsToldTwiceIsOneFinding) {
  for (const uint64_t first : {1, 2}) {
    Pool pool;
    pool.apply(Op::mstxMemHeapRegister, {5, 2, 0, kBlock, 4096});
    pool.region(10, 0, 256).write(0, 256).unregister(10).write(512, 64);
    pool.apply(Op::mstxMemHeapUnregister, {5, first});
    pool.write(0, 64);
    pool.apply(Op::mstxMemHeapUnregister, {5, 3 - first});
    pool.free().end();
    EXPECT_EQ(pool.rules(), Rules{"INSP-Mstx-heap-overlap"});
  }
}

TEST(AfterAMistake, ARegionOutsideOfItsHeapIsOneFinding) {
  Pool pool;
  pool.region(10, 4000, 256).write(4000, 64).unregister(10).end_heap().free().end();
  EXPECT_EQ(pool.rules(), Rules{"INSP-Mstx-region-outside-heap"});
}

TEST(OtherDomains, MayNotSpeakOfARegionOrAHeap) {
  Pool pool;
  pool.region(10, 0, 256);
  pool.apply(Op::mstxMemRegionsUnregister, {6, 1, 10});
  pool.apply(Op::mstxMemRegionsUnregister, {6, 0, 0, kBlock});
  pool.write(0, 256).unregister(10);  // neither had an effect
  pool.apply(Op::mstxMemHeapUnregister, {6, 1});
  EXPECT_EQ(pool.rules(), (Rules{"INSP-Mstx-reference", "INSP-Mstx-reference", "INSP-Mstx-reference"}));
  EXPECT_NE(pool.findings()[0].detail.find("is of domain 'pool', and domain 'other' speaks of it"),
            std::string::npos);
  EXPECT_NE(pool.findings()[1].detail.find("one of domain 'pool' does"), std::string::npos);
  pool.free().end();  // the heap has ended
  EXPECT_EQ(pool.findings().size(), 3u);
}

TEST(PoolLeaks, ABlockThatIsAliveWhenItsHeapEndsIsOne) {
  Pool pool;
  pool.region(10, 0, 256).region(11, 512, 256).unregister(11).end_heap().free().end();
  EXPECT_EQ(pool.rules(), Rules{"INSP-Leak-region"});
}

TEST(PoolLeaks, AResetGivesUpAllBlocks) {
  Pool pool;
  pool.region(10, 0, 256);
  pool.apply(Op::platMstxMemHeapReset, {5, 1});
  pool.end_heap().free().end();
  EXPECT_EQ(pool.rules(), Rules{});
}

TEST(PoolLeaks, AHeapThatLivesToTheEndHoldsItsMemory) {
  Pool pool;
  pool.region(10, 0, 256).unregister(10).end();
  EXPECT_EQ(pool.rules(), Rules{});
  Pool left;
  left.region(10, 0, 256).end();
  EXPECT_EQ(left.rules(), Rules{"INSP-Leak-region"});
}

// The page was unmapped and kept for later: no address is in the heap any more.
TEST(PoolLeaks, PagesThatAHeapHadAreHeldByItsPool) {
  test::MadeUpTrace trace;
  trace.apply(Op::aclrtReserveMemAddress, {0x200000, 0x400000, 0, 0, 0});
  trace.apply(Op::mstxMemHeapRegister, {0, 1, 0, 0x200000, 0x400000});
  trace.apply(Op::aclrtMallocPhysical, {7, 0x200000, 0, 1, 0})
      .apply(Op::aclrtMallocPhysical, {8, 0x200000, 0, 1, 0});
  trace.apply(Op::aclrtMapMem, {0x200000, 0x200000, 7}).apply(Op::aclrtMapMem, {0x400000, 0x200000, 8});
  trace.apply(Op::aclrtUnmapMem, {0x200000});
  trace.end();
  EXPECT_EQ(trace.rules(), Rules{});
}

TEST(PoolLeaks, MemoryOfAPoolThatEndedIsOne) {
  Pool pool;
  pool.end_heap().end();
  EXPECT_EQ(pool.rules(), Rules{"INSP-Leak-device-block"});
}

TEST(PoolLeaks, AHeapWhoseDeviceIsResetIsAWarning) {
  Pool pool;
  pool.apply(Op::aclrtSetDevice, {0}).apply(Op::aclrtResetDevice, {0}).end();
  EXPECT_EQ(pool.rules(), Rules{"INSP-Leak-heap"});
}

TEST(Ranges, ThatAreNeverEndedAreFoundAtTheEnd) {
  test::MadeUpTrace trace;
  trace.apply(Op::mstxRangeStart, {0, 1, 0}, "step").apply(Op::mstxRangeStart, {0, 2, 0}, "inner");
  trace.apply(Op::mstxRangeEnd, {0, 2});
  EXPECT_EQ(trace.rules(), Rules{});
  trace.end();
  EXPECT_EQ(trace.rules(), Rules{"INSP-Mstx-range-open"});
  CheckOptions killed;
  killed.ended = false;
  test::MadeUpTrace other(killed);
  EXPECT_EQ(other.apply(Op::mstxRangeStart, {0, 1, 0}, "step").end().rules(), Rules{});
}

}  // namespace
}  // namespace plat::inspect
