// SPDX-License-Identifier: Apache-2.0
// A fault at every step of what seldom happens: that a table of the library grows, as it does for the first
// block of a process. Each fault has a device of its own, and the books are looked at from inside, because no
// call shows addresses and places in tables that are lost.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <functional>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "device/product.h"
#include "stream/board.h"
#include "support/failing_steps.h"
#include "support/tiny_device.h"

namespace plat::test {
namespace {

using testing::TinyDevice;

struct Books {
  uint64_t free_bytes = 0;
  uint64_t reserved_bytes = 0;
  uint64_t taken_bytes = 0;  // of the device's addresses, as the system sees it
  uint32_t mappings = 0;
  bool operator==(const Books&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Books& books) {
  return out << books.free_bytes << " bytes free, " << books.reserved_bytes << " reserved, "
             << books.taken_bytes << " taken, " << books.mappings << " mappings";
}

uint64_t taken_bytes() {
  uint64_t bytes = 0;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    uint64_t start = 0;
    uint64_t end = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx", &start, &end) == 2 && start >= device::kWindowStart &&
        end <= device::kWindowEnd)
      bytes += end - start;
  }
  return bytes;
}

Books books_of(TinyDevice& tiny) {
  return {tiny.free_bytes(), tiny.vmm.space().reserved_bytes(), taken_bytes(),
          tiny.vmm.space().mapping_count()};
}

// Whether there was a step of that number, which then failed.
bool fail_step(uint64_t fails_at, const std::function<void(TinyDevice&)>& prepare,
               const std::function<Result<Va>(TinyDevice&)>& take) {
  TinyDevice tiny;
  prepare(tiny);
  const Books before = books_of(tiny);
  std::optional<RuleId> failed = RuleId::OutOfHostMemory;
  arm_step(fails_at);
  try {
    const auto taken = take(tiny);
    failed = taken ? std::nullopt : std::optional(taken.error().rule);
  } catch (const std::bad_alloc&) {
  }
  const bool was_met = disarm_steps() >= fails_at;
  SCOPED_TRACE("step " + std::to_string(fails_at) + " (" + failed_step() + ")");
  EXPECT_TRUE(was_met || !failed) << "it failed without a fault";
  EXPECT_NE(failed, RuleId::OutOfHandles) << "there are none yet";
  if (failed) {
    EXPECT_EQ(books_of(tiny), before);
  }
  EXPECT_TRUE(take(tiny));
  return was_met;
}

void fail_each_step_inside(const std::function<void(TinyDevice&)>& prepare,
                           const std::function<Result<Va>(TinyDevice&)>& take) {
  uint64_t fails_at = 1;
  for (bool was_met = true; was_met && !::testing::Test::HasFailure(); ++fails_at) {
    was_met = fail_step(fails_at, prepare, take);
    // The addresses of a device stay taken until its process ends.
    EXPECT_EQ(munmap(pointer_of(Va{device::kWindowStart}), device::kWindowEnd - device::kWindowStart), 0);
  }
  EXPECT_GT(fails_at, 3u) << "too few steps to be true";
}

Result<Va> reserve(TinyDevice& tiny) { return tiny.vmm.reserve(2_MiB, Va{}, false); }

// Until the next one needs room in the table.
void fill_reservations(TinyDevice& tiny) {
  while (tiny.vmm.space().reservation_slots() % 1024 != 0) EXPECT_TRUE(reserve(tiny));
}

TEST(EveryStepInside, OfAReservationLosesNoAddresses) { fail_each_step_inside(fill_reservations, reserve); }

TEST(EveryStepInside, OfTheFirstLargeBlockLosesNothing) {
  fail_each_step_inside([](TinyDevice&) {}, [](TinyDevice& tiny) { return tiny.malloc(4_MiB); });
}

using stream::Board;
using stream::HeldPlace;

size_t mapped_boards() {
  size_t count = 0;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (line.find("plat-board") != std::string::npos) ++count;
  return count;
}

// `check` follows each fault, with nothing left of what the call made.
void fail_each_step_of(const std::function<void()>& call, const std::function<void()>& check) {
  uint64_t fails_at = 1;
  for (bool was_met = true; was_met && !::testing::Test::HasFailure(); ++fails_at) {
    arm_step(fails_at);
    try {
      call();
    } catch (const std::bad_alloc&) {
    }
    was_met = disarm_steps() >= fails_at;
    SCOPED_TRACE("step " + std::to_string(fails_at) + " (" + failed_step() + ")");
    check();
  }
  EXPECT_GT(fails_at, 2u) << "too few steps to be true";
}

TEST(EveryStepInside, OfABoardLosesNoMemory) {
  fail_each_step_of([] { (void)Board::create(); }, [] { EXPECT_EQ(mapped_boards(), 0u); });
  const auto own = Board::create().value();
  // A mapping that stays would be a guest for ever.
  fail_each_step_of([] { (void)Board::open(getpid()); }, [] { EXPECT_EQ(mapped_boards(), 1u); });
}

TEST(EveryStepInside, OfAPlaceOnABoardLosesNone) {
  const auto own = Board::create().value();
  const auto guest = Board::open(getpid());
  ASSERT_NE(guest, nullptr);
  fail_each_step_of([&] { (void)HeldPlace::take(own, Board::Kind::Event, 0); },
                    [&] {
                      EXPECT_EQ(own->take_place(Board::Kind::Event, 0)->index, 0u);
                      own->leave_place(Board::Kind::Event, 0);
                    });
  fail_each_step_of(
      [&] {
        const auto place = own->take_place(Board::Kind::Event, 0);
        (void)HeldPlace::hold(guest, Board::Kind::Event, place->index, place->generation);
      },
      [&] {
        own->leave_place(Board::Kind::Event, 0);
        EXPECT_EQ(own->take_place(Board::Kind::Event, 0)->index, 0u) << "nobody holds it";
        own->leave_place(Board::Kind::Event, 0);
      });
}

// Who may import a notify is forgotten when the next one takes its place.
TEST(EveryStepInside, OfAPlaceWithAListLosesNoRoomForNumbers) {
  const auto own = Board::create().value();
  const std::vector<int32_t> all(65536, 1);
  const auto fill = [&] { return own->allow(own->take_place(Board::Kind::Notify, 0)->index, all); };
  ASSERT_TRUE(fill());
  own->leave_place(Board::Kind::Notify, 0);
  fail_each_step_of([&] { (void)fill(); }, [&] { own->leave_place(Board::Kind::Notify, 0); });
  EXPECT_TRUE(fill());
}

}  // namespace
}  // namespace plat::test
