// SPDX-License-Identifier: Apache-2.0
#include "lookup.h"

#include <random>

#include "base/units.h"
#include "vmm/address_space.h"

namespace plat::bench {

namespace {

constexpr size_t kRounds = 31;
constexpr size_t kProbes = 100'000;

}  // namespace

Lookup lookup_ns(size_t mappings) {
  // Never taken down: the process ends with the measurement.
  auto& space = *new vmm::AddressSpace;
  std::vector<uint64_t> starts;
  while (starts.size() < mappings) {
    const size_t pages = std::min<size_t>(mappings - starts.size(), 32'768);
    const auto reservation = space.reserve(pages * core::kPageBytes, 1_GiB, Va{0});
    must(reservation ? 0 : 1, "reserve");
    const Va base{space.reservation(*reservation)->start.load()};
    for (size_t page = 0; page < pages; ++page) {
      const Va at = base + page * core::kPageBytes;
      const vmm::MappingId id = space.take_mapping();
      vmm::Mapping& mapping = space.live_mapping(id);
      mapping.start.store(at.value);
      mapping.size_bytes.store(core::kPageBytes);
      mapping.reservation.store(*reservation);
      space.store(at,
                  vmm::PageEntry::mapped(id, device::BankId(0), device::PageId(static_cast<uint32_t>(page))));
      starts.push_back(at.value);
    }
  }
  std::mt19937_64 random(1);
  std::vector<uint64_t> probes(kProbes);
  for (uint64_t& probe : probes) probe = starts[random() % starts.size()] + random() % core::kPageBytes;
  const vmm::AddressSpace& reader = space;
  Lookup result;
  uint64_t found = 0;
  for (size_t round = 0; round < kRounds; ++round) {
    result.mapping.add(ns_each(kProbes, [&](size_t i) {
      const vmm::PageEntry entry = reader.entry(Va{probes[i]});
      found += entry.tag() == vmm::PageEntry::Mapped && reader.mapping(entry.mapping()) != nullptr;
    }));
    result.range.add(ns_each(kProbes, [&](size_t i) {
      const Va va{probes[i]};
      const vmm::PageEntry entry = reader.entry(va);
      if (entry.tag() != vmm::PageEntry::Mapped) return;
      const vmm::Mapping* mapping = reader.mapping(entry.mapping());
      found += va.value - mapping->start.load(std::memory_order_acquire) <
               mapping->size_bytes.load(std::memory_order_acquire);
    }));
  }
  must(found == 2 * kProbes * kRounds ? 0 : 1, "every probe finds its mapping");
  return result;
}

}  // namespace plat::bench
