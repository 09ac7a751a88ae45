// SPDX-License-Identifier: Apache-2.0
#include "pool/recycler.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "fake_source.h"
#include "pool/pool.h"

namespace plat::test {
namespace {

using pool::Outcome;
using pool::Streams;

// The parts that a recycler works with. The pool is another one: the switch wants to know one.
class RecyclerTest : public ::testing::Test, private pool::SpaceWatcher {
 protected:
  static plat_pool_options defaults() {
    plat_pool_options options;
    plat_pool_options_init(&options);
    return options;
  }
  void space_added(pool::Space&) override {}
  void space_removed(pool::Space&) override {}
  static plat_stream stream(uintptr_t number) { return reinterpret_cast<plat_stream>(number << 4); }

  const std::string name = "parts";
  const plat_pool_options options = defaults();
  FakeSource source{8};
  FakeEvents events;
  pool::Family family{nullptr};
  pool::FastPath path, path_of_another;
  pool::Pool another{options, std::make_unique<FakeSource>(8), family, nullptr, path_of_another};
  pool::SpaceIndex index;
  pool::Zones zones{index, nullptr, false};
  Streams streams{events};
  pool::Uses uses{events};
  pool::Caches caches{pool::next_pool_id(), zones, streams, index};
  pool::Reporting reporting{name, source, index, uses};
  pool::FastPathSwitch fast{another, path, options, 0, reporting, uses, zones, caches};
  pool::Backing backing{options, source, family, zones, index, *this};
  pool::Recycler recycler{name, options, zones, streams, uses, caches, index, fast};
};

// While a stream is given what another has freed, it passes, and what it had freed itself is settled.
TEST_F(RecyclerTest, LosesNoBlockThatChangesHandsWhileTheStreamPasses) {
  pool::Zone& zone = zones.large();
  constexpr uint32_t kGranules = 4_MiB >> core::kGranuleShift;
  core::RangeId block;
  ASSERT_EQ(backing.place(zone, kGranules, 1, 0, &block), Outcome::kDone);
  events.busy = {stream(1)};
  const uint16_t from = streams.domain_of(stream(1));
  const uint16_t to = streams.domain_of(stream(2));
  std::unique_lock guard(zone.lock());
  zone.heap().release(block, from, streams.join_batch(from));
  std::thread settling([&] { recycler.settle(Streams::Effort::kPoll, stream(2), to); });
  // It waits for the lock. Had it chosen a batch before, that batch would pass here.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(300);
  uint32_t passed = 0;
  while (passed == 0 && std::chrono::steady_clock::now() < deadline)
    passed = streams.passed(to, Streams::Effort::kPoll).batch;
  if (passed != 0) zone.settle(to, passed, 0, 0);
  guard.unlock();
  settling.join();
  EXPECT_EQ(zone.heap().free_granules(to), kGranules);
  events.busy.clear();
  recycler.settle(Streams::Effort::kPoll);
  EXPECT_EQ(zone.heap().free_granules(to), 0u) << "nobody asks how far the stream is";
  EXPECT_EQ(zone.heap().free_granules(0), kGranules);
  EXPECT_TRUE(backing.close());
}

// What a thread keeps for a stream that is gone may be of another that has got its name.
TEST_F(RecyclerTest, AsksAnewForTheStreamOfWhatAThreadKeeps) {
  pool::Zone& zone = zones.small();
  constexpr uint32_t kIndex = 0;
  const uint32_t granules = pool::span_bytes(kIndex) >> core::kGranuleShift;
  core::RangeId span;
  ASSERT_EQ(backing.place(zone, granules, granules, 0, &span), Outcome::kDone);
  zone.cut_span(kIndex, span);
  pool::SmallBlock block{};
  ASSERT_EQ(zone.spans()->take(kIndex, 0, &block, 1, 1), 1u);
  streams.join_batch(streams.domain_of(stream(1)));
  caches.keep(*pool::thread_cache_of(caches), stream(1), kIndex, block.address);
  events.gone = {stream(1)};
  EXPECT_TRUE(recycler.settle(Streams::Effort::kPoll));
  events.gone.clear();
  events.busy = {stream(1)};
  caches.flush_mine();
  EXPECT_EQ(zone.spans()->deferred_bytes(), pool::class_bytes(kIndex));
  events.busy.clear();
  recycler.settle(Streams::Effort::kPoll);
  EXPECT_EQ(zone.spans()->deferred_bytes(), 0u);
  EXPECT_TRUE(backing.close());
}

}  // namespace
}  // namespace plat::test
