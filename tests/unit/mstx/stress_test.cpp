// SPDX-License-Identifier: Apache-2.0
// Attaching and detaching a thousand times under load. Each tool checks, with the books it keeps, that it is
// never told to take back what it was not told of, and at the end that its books agree with what the program
// holds.

#include <atomic>
#include <thread>

#include "unit/mstx/fixture.h"

namespace plat::mstx::test {
namespace {

class MstxStressTest : public MstxTest {};

TEST_F(MstxStressTest, AThousandAttachesUnderLoad) {
  constexpr int kThreads = 3;
  constexpr int kRounds = 1000;
  platMstxRemember(1);
  std::atomic<bool> stop{false};
  std::atomic<int> holding{0};
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      const std::string name = "thread" + std::to_string(t);
      const auto domain = mstxDomainCreateA(name.c_str());
      const uint64_t base = 0x1000000 * (t + 1);
      const auto heap = add_heap(domain, base, 0x100000);
      const auto kept = add_region(domain, heap, base, 64);
      while (!stop) {
        const mstxRangeId range = mstxDomainRangeStartA(domain, "step", nullptr);
        const auto by_handle_one = add_region(domain, heap, base + 0x100, 64);
        add_region(domain, heap, base + 0x200, 64);
        assign(domain, by_handle(by_handle_one), MSTX_MEM_PERMISSIONS_REGION_FLAGS_READ);
        mstxMarkA("m", nullptr);
        mstxDomainMarkA(domain, "m", nullptr);
        drop_region(domain, by_handle(by_handle_one));
        drop_region(domain, by_pointer(base + 0x200));
        const auto short_lived = add_heap(domain, base + 0x200000, 0x1000);
        add_region(domain, short_lived, base + 0x200000, 64);
        mstxMemHeapUnregister(domain, short_lived);
        mstxDomainRangeEnd(domain, range);
      }
      ++holding;
      while (holding < kThreads + 1) std::this_thread::yield();
      drop_region(domain, by_handle(kept));
      mstxMemHeapUnregister(domain, heap);
      mstxDomainDestroy(domain);
    });
  }
  ToolA::habits.extensions = true;
  for (int round = 0; round < kRounds; ++round) {
    const auto a = attach<ToolA>();
    const auto b = round % 3 == 0 ? attach<ToolB>() : 0;
    for (int i = 0; i < round % 7; ++i) std::this_thread::yield();
    EXPECT_EQ(platMstxDetach(a), PLAT_MSTX_OK);
    if (b != 0) {
      EXPECT_EQ(platMstxDetach(b), PLAT_MSTX_OK);
    }
    EXPECT_EQ(ToolA::books.mistakes, std::vector<std::string>());
    EXPECT_EQ(ToolB::books.mistakes, std::vector<std::string>());
    ToolA::books = {};
    ToolB::books = {};
  }
  stop = true;
  while (holding < kThreads) std::this_thread::yield();
  // Nothing moves now: what a newcomer is told is exactly what the threads hold.
  attach<ToolA>();
  EXPECT_EQ(ToolA::books.domains.size(), size_t{kThreads});
  EXPECT_EQ(ToolA::books.heaps.size(), size_t{kThreads});
  EXPECT_EQ(ToolA::books.regions.size(), size_t{kThreads});
  ++holding;
  for (auto& thread : threads) thread.join();
  EXPECT_TRUE(ToolA::books.domains.empty());
  EXPECT_TRUE(ToolA::books.heaps.empty());
  EXPECT_TRUE(ToolA::books.regions.empty());
}

}  // namespace
}  // namespace plat::mstx::test
