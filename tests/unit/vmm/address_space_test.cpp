// SPDX-License-Identifier: Apache-2.0
// Which reservation an address belongs to: against a naive list, and while others look.
#include "vmm/address_space.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <thread>
#include <vector>

namespace plat::vmm {
namespace {

constexpr uint64_t kPage = core::kPageBytes;

uint64_t some_size(std::mt19937_64& random) {
  switch (random() % 8) {
    case 0:
      return (1 + random() % 4) * 1_GiB;
    case 1:
      return 1_GiB - kPage;
    case 2:
      return 1_GiB + kPage;
    case 3:
      return (1 + random() % 2000) * kPage;
    default:
      return (1 + random() % 16) * kPage;
  }
}

TEST(AddressSpace, AgreesWithAListOfReservations) {
  auto space = std::make_unique<AddressSpace>();
  std::map<uint64_t, std::pair<uint64_t, ReservationId>> live;  // start -> size, index
  std::mt19937_64 random(17);
  uint64_t reserved = 0;
  const auto wanted = [&](uint64_t address) {
    auto next = live.upper_bound(address);
    if (next == live.begin()) return ReservationId::none();
    --next;
    return address - next->first < next->second.first ? next->second.second : ReservationId::none();
  };
  const auto look = [&](uint64_t address) {
    ASSERT_EQ(space->reservation_at(Va{address}), wanted(address)) << std::hex << address;
  };
  for (int step = 0; step < 6000; ++step) {
    if (live.size() < 20 || (live.size() < 120 && random() % 2 == 0)) {
      const uint64_t size = some_size(random);
      const uint64_t alignment = size > 512_MiB ? 1_GiB : kPage;
      const auto index = space->reserve(size, alignment, Va{0});
      ASSERT_TRUE(index) << index.error().detail;
      const uint64_t start = space->reservation(*index)->start.load();
      ASSERT_EQ(start % alignment, 0u);
      ASSERT_EQ(wanted(start), ReservationId::none());
      ASSERT_EQ(wanted(start + size - 1), ReservationId::none());
      live[start] = {size, *index};
      reserved += size;
    } else {
      auto victim = std::next(live.begin(), static_cast<long>(random() % live.size()));
      space->release(victim->second.second);
      reserved -= victim->second.first;
      const uint64_t start = victim->first, size = victim->second.first;
      live.erase(victim);
      look(start);
      look(start + size - 1);
    }
    ASSERT_EQ(space->reserved_bytes(), reserved);
    const auto& [start, range] = *std::next(live.begin(), static_cast<long>(random() % live.size()));
    look(start);
    look(start - 1);
    look(start + range.first - 1);
    look(start + range.first);
    look(start + random() % range.first);
  }
  for (const uint64_t address :
       {uint64_t{0}, uint64_t{1}, UINT64_MAX, uint64_t{1} << 47, (uint64_t{1} << 47) - 1})
    look(address);
  for (const auto& [start, range] : live) space->release(range.second);
  EXPECT_EQ(space->reserved_bytes(), 0u);
}

// Takes what install() does: the mapping first, then its pages.
void map(AddressSpace& space, ReservationId reservation, Va start, uint64_t pages, device::BankId bank) {
  const MappingId id = space.take_mapping();
  Mapping& mapping = *space.mapping(id);
  mapping.start.store(start.value, std::memory_order_relaxed);
  mapping.size_bytes.store(pages * kPage, std::memory_order_relaxed);
  mapping.set_bank(bank);
  mapping.reservation.store(reservation, std::memory_order_relaxed);
  for (uint64_t page = 0; page < pages; ++page)
    space.store(start + page * kPage,
                PageEntry::mapped(id, bank, device::PageId(static_cast<uint32_t>(page))));
}

void unmap(AddressSpace& space, ReservationId reservation, Va start) {
  const MappingId id = space.entry(start).mapping();
  Mapping& mapping = *space.mapping(id);
  const uint64_t size = mapping.size_bytes.load(std::memory_order_relaxed);
  for (uint64_t at = 0; at < size; at += kPage)
    space.store(start + at, space.vacant(reservation, start + at));
  mapping.size_bytes.store(0, std::memory_order_release);
  space.give_back_mapping(id);
}

TEST(AddressSpace, EntriesKeepWhatIsPutIntoThem) {
  const PageEntry mapped =
      PageEntry::mapped(MappingId(0xABCDEF), device::BankId(64), device::PageId(0xFEDCBA));
  EXPECT_EQ(mapped.tag(), PageEntry::Mapped);
  EXPECT_EQ(mapped.mapping().value, 0xABCDEFu);
  EXPECT_EQ(mapped.bank().value, 64u);
  EXPECT_EQ(mapped.page().value, 0xFEDCBAu);
  const PageEntry reserved = PageEntry::reserved(ReservationId(16'777'215));
  EXPECT_EQ(reserved.tag(), PageEntry::Reserved);
  EXPECT_EQ(reserved.reservation().value, 16'777'215u);
  EXPECT_EQ(PageEntry{}.tag(), PageEntry::Nothing);
}

TEST(AddressSpace, ReadersTakeNoLockWhileAWriterMapsAndUnmaps) {
#ifdef __SANITIZE_THREAD__
  constexpr int kRounds = 300;
#else
  constexpr int kRounds = 3000;
#endif
  auto space = std::make_unique<AddressSpace>();
  constexpr uint64_t kPages = 1024;  // 2 GiB: both tables answer for parts of it
  const ReservationId fixed = *space->reserve(kPages * kPage, 1_GiB, Va{0});
  const Va base{space->reservation(fixed)->start.load()};
  std::atomic<bool> done{false};
  std::atomic<uint64_t> seen{0};
  const auto reader = [&](uint64_t seed) {
    std::mt19937_64 random(seed);
    const AddressSpace& view = *space;
    do {
      const uint64_t page = random() % kPages;
      const Va va = base + page * kPage + random() % kPage;
      // The range stays reserved, whatever is mapped in it.
      EXPECT_EQ(view.reservation_at(va), fixed);
      const PageEntry entry = view.entry(va);
      if (entry.tag() != PageEntry::Mapped) continue;
      const Mapping* mapping = view.mapping(entry.mapping());
      ASSERT_NE(mapping, nullptr);
      EXPECT_EQ(entry.bank().value, 5u);
      // The mapping may be another one by now, but never a torn one of this range.
      const uint64_t start = mapping->start.load(std::memory_order_acquire);
      EXPECT_TRUE(start >= base.value && start < base.value + kPages * kPage);
      seen.fetch_add(1, std::memory_order_relaxed);
    } while (!done);
  };
  std::thread first(reader, 1), second(reader, 2);
  std::mt19937_64 random(3);
  // On a busy machine the readers may come late.
  for (int round = 0; round < kRounds || seen == 0; ++round) {
    for (uint64_t page = 0; page < kPages; page += 64)
      map(*space, fixed, base + page * kPage, 1 + random() % 64, device::BankId(5));
    const ReservationId other = *space->reserve(some_size(random), kPage, Va{0});
    for (uint64_t page = 0; page < kPages; page += 64) unmap(*space, fixed, base + page * kPage);
    space->release(other);
  }
  done = true;
  first.join();
  second.join();
  EXPECT_EQ(space->mapping_count(), 0u);
}

}  // namespace
}  // namespace plat::vmm
