// SPDX-License-Identifier: Apache-2.0
// Copies against whoever takes their memory away and tries again when he is told that it is in use: the real
// code, in all interleavings with two preemptions. The memory goes to a next owner at another address, who
// must find in it what he wrote; every code must be one that the moment explains. As a proof that this finds
// anything, mistakes that once were there are put back.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <mutex>

#include "os/barrier.h"
#include "rules/rules.h"
#include "support/interleaver.h"
#include "support/tiny_device.h"

namespace plat::test {
namespace {

using Bytes = std::array<char, 64>;

constexpr int kAttempts = 2;
constexpr unsigned kPreemptions = 2;

Bytes filled(char byte) {
  Bytes bytes;
  bytes.fill(byte);
  return bytes;
}

// A device with so many pages, and what all trials do with it.
class World {
 public:
  explicit World(uint64_t pages)
      : tiny({{"PLAT_CAPACITY", fmt::format("{}MiB", 2 * pages)}, {"PLAT_DEVICES", "1"}}) {
    tiny.node.set_open(0, true);
  }

  vmm::PhysicalHandle create(uint64_t pages) {
    aclrtPhysicalMemProp prop{};
    prop.memAttr = ACL_HBM_MEM_HUGE;
    prop.location = {0, ACL_MEM_LOCATION_TYPE_DEVICE};
    return tiny.vmm.create(pages * 2_MiB, prop).value();
  }
  // New memory at the start of a range, which nothing but the mapping keeps.
  void map_new(Va start, uint64_t pages) {
    const vmm::PhysicalHandle handle = create(pages);
    if (!tiny.vmm.map(start, pages * 2_MiB, 0, handle, true)) violate("memory that is there was not mapped");
    if (!tiny.vmm.free(handle)) violate("a mapped handle was not freed");
  }

  Result<> write(Va target, const Bytes& bytes) {
    return tiny.mover.copy(target, va_of(bytes.data()), bytes.size(), 0);
  }
  Bytes read(Va source) {
    Bytes bytes{};
    if (!tiny.mover.copy(va_of(bytes.data()), source, bytes.size(), 0)) violate("live memory was not read");
    return bytes;
  }

  // What an owner does with new memory, and what it must be like when he comes back.
  void own(Va start) {
    const auto written = write(start, filled('n'));
    if (written) return;
    violate("new memory was not written: " + written.error().detail);  // the machine may have none left
    is_written_ = false;
  }
  void expect_own(Va start) {
    if (is_written_ && read(start) != filled('n')) violate("a copy wrote into the next owner's memory");
  }

  // The last that went wrong in this trial.
  void violate(std::string what) { violation_ = std::move(what); }
  std::string take_violation() {
    is_written_ = true;
    return std::exchange(violation_, "");
  }

  const vmm::Mapping& mapping_at(Va va) {
    return tiny.vmm.space().live_mapping(tiny.vmm.space().entry(va).mapping());
  }

  testing::TinyDevice tiny;

 private:
  std::string violation_;
  bool is_written_ = true;  // what the next owners have
};

// Whether a copy was done. It may be refused for what is true of memory that goes.
bool is_done(World& world, const Result<>& copy) {
  if (copy) return true;
  const RuleId rule = copy.error().rule;
  if (rule != RuleId::CopyHole && rule != RuleId::CopyFreed && rule != RuleId::CopyPastEnd)
    world.violate("a copy: " + copy.error().detail);
  return false;
}

// Takes memory away, and again while it is in use. Whether it went. A copy that comes between may be refused
// although it is what keeps the memory.
bool take_away(World& world, RuleId busy, const std::function<Result<>()>& give_up) {
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const auto result = give_up();
    if (result) return true;
    if (result.error().rule != busy) world.violate("giving memory up: " + result.error().detail);
  }
  return false;
}

// How a trial of one kind of memory goes: `make` makes it, `copy` writes 'c' there, `give_up` takes it away
// if it can, `pass_on` gives it to the next owner, and `look` is he, who looks whether all is his.
struct Kind {
  RuleId busy;
  std::function<void()> make;
  std::function<Result<>()> copy;
  std::function<Result<>()> give_up;
  std::function<void()> pass_on;
  std::function<void()> look;
};

// `remembering`: for each thread that copies whether it has done so before, and takes the shortcut.
Trial trial_of(World& world, const Kind& kind, const std::vector<bool>& remembering) {
  kind.make();
  EXPECT_TRUE(kind.copy());  // takes the page's memory
  Trial trial;
  auto is_gone = std::make_shared<bool>(false);
  trial.actors.push_back({.run = [&world, &kind, is_gone] {
    *is_gone = take_away(world, kind.busy, kind.give_up);
    const Unbroken whole;
    if (*is_gone) kind.pass_on();
  }});
  for (const bool remembers : remembering)
    trial.actors.push_back({.run = [&world, &kind] { (void)is_done(world, kind.copy()); },
                            .prepare =
                                [&kind, remembers] {
                                  for (int i = 0; i < (remembers ? 2 : 0); ++i) EXPECT_TRUE(kind.copy());
                                }});
  trial.check = [&world, &kind, is_gone] {
    if (*is_gone)
      kind.look();
    else if (!kind.give_up())  // all attempts met somebody inside, who is gone by now
      world.violate("memory that nobody uses does not go");
    return world.take_violation();
  };
  return trial;
}

// Two ranges; the memory of the first, once it goes, is mapped in the second.
struct Mapped {
  World world{1};
  const Va first = world.tiny.vmm.reserve(2_MiB, Va{0}, true).value();
  const Va second = world.tiny.vmm.reserve(2_MiB, Va{0}, true).value();

  Kind kind{.busy = RuleId::UnmapBusy,
            .make = [this] { world.map_new(first, 1); },
            .copy = [this] { return world.write(first, filled('c')); },
            .give_up = [this] { return world.tiny.vmm.unmap(first); },
            .pass_on =
                [this] {
                  world.map_new(second, 1);
                  world.own(second);
                },
            .look =
                [this] {
                  world.expect_own(second);
                  EXPECT_TRUE(world.tiny.vmm.unmap(second));
                }};
};

// The same with a block in huge pages.
struct Large : Mapped {
  Va block;

  Large() {
    kind.busy = RuleId::FreeBusy;
    kind.make = [this] { block = world.tiny.malloc(1_MiB, ACL_MEM_MALLOC_HUGE_ONLY).value(); };
    kind.copy = [this] { return world.write(block, filled('c')); };
    kind.give_up = [this] { return world.tiny.free(block); };
  }
};

// A block of two small pages, and copies over the border between them; the next owners have one page each, so
// that no copy over the border is right any more.
struct Small {
  static constexpr uint64_t kPage = 4096;
  static constexpr uint64_t kOwned = kPage - 64;  // a call adds some bytes

  World world{1};
  Va block;
  std::array<Va, 2> owners;

  Va malloc(uint64_t size_bytes) { return world.tiny.malloc(size_bytes, ACL_MEM_MALLOC_NORMAL_ONLY).value(); }
  Kind kind{.busy = RuleId::FreeBusy,
            .make = [this] { block = malloc(kPage + kOwned); },
            .copy = [this] { return world.write(block + (kPage - 32), filled('c')); },
            .give_up = [this] { return world.tiny.free(block); },
            .pass_on =
                [this] {
                  for (Va& owner : owners) {
                    owner = malloc(kOwned);
                    world.own(owner);
                  }
                },
            .look =
                [this] {
                  for (const Va owner : owners) {
                    world.expect_own(owner);
                    EXPECT_TRUE(world.tiny.free(owner));
                  }
                }};
};

// The same with page-locked memory of the host, which the device's is copied to.
struct PageLocked {
  static constexpr uint64_t kPage = 4096;

  World world{1};
  const Va device = world.tiny.vmm.reserve(2_MiB, Va{0}, true).value();
  std::byte* block = nullptr;
  std::array<std::byte*, 2> owners{};

  PageLocked() {
    world.map_new(device, 1);
    EXPECT_TRUE(world.write(device, filled('c')));
  }
  std::byte* allocate(uint64_t size_bytes) {
    return static_cast<std::byte*>(world.tiny.hosts.allocate(size_bytes).value());
  }
  Kind kind{.busy = RuleId::HostFreeBusy,
            .make = [this] { block = allocate(2 * kPage); },
            .copy = [this] { return world.tiny.mover.copy(va_of(block + (kPage - 32)), device, 64, 0); },
            .give_up = [this] { return world.tiny.hosts.free(block, "aclrtFreeHost"); },
            .pass_on =
                [this] {
                  for (std::byte*& owner : owners) {
                    owner = allocate(kPage);
                    std::memset(owner, 'n', kPage);
                  }
                },
            .look =
                [this] {
                  for (std::byte* owner : owners) {
                    if (std::count(owner, owner + kPage, std::byte{'n'}) != long{kPage})
                      world.violate("a copy wrote into the next owner's memory");
                    EXPECT_TRUE(world.tiny.hosts.free(owner, "aclrtFreeHost"));
                  }
                }};
};

// As it once was: the life that follows does not keep who remembered the one before, and a second look finds
// nobody although a copy is inside. Lives are the only numbers of this size with something in their last 16
// bits.
uint64_t without_who(const void*, uint64_t value) {
  const bool is_life = value >> 16 != 0 && value >> 40 == 0;
  return is_life ? value >> 16 << 16 : value;
}

// A mistake with what threads remember is none where they remember nothing.
void expect_corrupts(const Exploration& outcome, bool is_possible = true) {
  if (!is_possible) {
    EXPECT_EQ(outcome.violation, "");
    return;
  }
  EXPECT_NE(outcome.violation.find("wrote into the next owner's memory"), std::string::npos)
      << outcome.executions << " executions: " << outcome.violation;
}

template <class Memory>
class Interleaved : public ::testing::Test {
 protected:
  Exploration explore(const std::vector<bool>& remembering, const Distortion& distortion = {}) {
    return explore_interleavings([&] { return trial_of(memory.world, memory.kind, remembering); },
                                 kPreemptions, distortion);
  }
  Memory memory;
};
using Memories = ::testing::Types<Mapped, Large, Small, PageLocked>;
TYPED_TEST_SUITE(Interleaved, Memories);

TYPED_TEST(Interleaved, ACopyKeepsWhatItUses) {
  for (const bool remembers : {true, false}) {
    const Exploration outcome = this->explore({remembers});
    EXPECT_EQ(outcome.violation, "");
    EXPECT_GT(outcome.executions, 300u);
  }
}

// Each of them remembers it, or has to be counted.
TYPED_TEST(Interleaved, TwoCopiesKeepWhatTheyUse) {
  const Exploration outcome = sample_interleavings(
      [&] {
        return trial_of(this->memory.world, this->memory.kind, {true, false});
      },
      1, 500);
  EXPECT_EQ(outcome.violation, "");
}

TYPED_TEST(Interleaved, ASecondLookThatFindsNobodyIsNoticed) {
  expect_corrupts(this->explore({true}, {.store = without_who}), os::has_process_barrier());
}

// Whoever frees a small block must see the copies that are counted.
TEST(InterleavedSmall, CountedCopiesThatAreNotSeenAreNoticed) {
  Small small;
  const void* counted = nullptr;
  const Distortion distortion{
      .load = [&](const void* place, uint64_t value) { return place == counted ? 0 : value; }};
  const auto setup = [&] {
    Trial trial = trial_of(small.world, small.kind, {false});
    counted = &small.world.mapping_at(small.block).sub_blocks.load()->block_at(small.block)->users->counted;
    return trial;
  };
  expect_corrupts(explore_interleavings(setup, kPreemptions, distortion));
}

// Two pages that are unmapped and mapped anew under a thread that copies with the first, remembers it, and
// goes on to the second.
class InterleavedMapping : public ::testing::Test {
 protected:
  Trial trial() {
    world.map_new(range, 2);
    for (uint64_t page = 0; page < kOthers; ++page) world.own(others + page * 2_MiB);
    return {.actors = {{.run =
                            [this] {
                              if (take_away(world, RuleId::UnmapBusy,
                                            [this] { return world.tiny.vmm.unmap(range); }))
                                world.map_new(range, 2);
                            }},
                       {.run =
                            [this] {
                              for (const Va target : {range, range, range + 2_MiB})
                                (void)is_done(world, world.write(target, filled('c')));
                            }}},
            .check = [this] {
              for (uint64_t page = 0; page < kOthers; ++page) world.expect_own(others + page * 2_MiB);
              if (!world.tiny.vmm.unmap(range)) world.violate("memory that nobody uses does not go");
              return world.take_violation();
            }};
  }

  static constexpr uint64_t kOthers = 3;
  World world{kOthers + 2};
  // They have the first pages, where an entry that is not there yet would lead to.
  const Va others = [this] {
    const Va start = world.tiny.vmm.reserve(kOthers * 2_MiB, Va{0}, true).value();
    world.map_new(start, kOthers);
    return start;
  }();
  const Va range = world.tiny.vmm.reserve(4_MiB, Va{0}, true).value();
};

TEST_F(InterleavedMapping, IsThereAsAWhole) {
  const Exploration outcome = explore_interleavings([&] { return trial(); }, 1);
  EXPECT_EQ(outcome.violation, "");
  EXPECT_GT(outcome.executions, 100u);
}

// As it once was: users are let in with the first page's entry.
TEST_F(InterleavedMapping, OpenBeforeItsLastPageIsNoticed) {
  const vmm::AddressSpace& space = world.tiny.vmm.space();
  const auto open_early = [&](const void*, uint64_t value) {
    const vmm::PageEntry entry{value};
    const bool is_entry = value >> 50 == 0 && value >> 26 != 0 && entry.tag() == vmm::PageEntry::Mapped;
    if (is_entry && entry.mapping().value < space.mapping_slots())
      space.live_mapping(entry.mapping()).users.store(0);
    return value;
  };
  expect_corrupts(explore_interleavings([&] { return trial(); }, 1, {.store = open_early}),
                  os::has_process_barrier());
}

// Two threads that let the lock go between reading and writing lose an addition in some orders, and only
// they.
TEST(Interleaver, FindsAnAdditionThatIsLost) {
  struct State {
    std::mutex mutex;
    int sum = 0;
  };
  for (const bool holds : {true, false}) {
    const Exploration outcome = explore_interleavings(
        [&] {
          auto state = std::make_shared<State>();
          const Actor adder{.run = [state, holds] {
            std::unique_lock lock(state->mutex);
            const int sum = state->sum;
            if (!holds) {
              lock.unlock();
              lock.lock();
            }
            state->sum = sum + 1;
          }};
          return Trial{.actors = {adder, adder},
                       .check = [state] { return state->sum == 2 ? "" : "an addition was lost"; }};
        },
        kPreemptions);
    EXPECT_EQ(outcome.violation.empty(), holds) << outcome.violation;
  }
}

}  // namespace
}  // namespace plat::test
