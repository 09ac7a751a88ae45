// SPDX-License-Identifier: Apache-2.0
// A device leaves the process: everything that clients made on it goes.
#include "vmm/vmm.h"

namespace plat::vmm {

void Vmm::release_device(device::BankId bank) {
  std::vector<Leftover> leftovers;
  {
    const std::lock_guard lock(mutex_);
    for (uint32_t place = 0; place < space_.mapping_slots(); ++place) {
      const MappingId id(place);
      const Mapping& mapping = space_.live_mapping(id);
      const PageEntry entry = space_.entry(Va{mapping.start.load(std::memory_order_relaxed)});
      const bool live = mapping.size_bytes.load(std::memory_order_relaxed) != 0 && entry.has_mapping() &&
                        entry.mapping() == id;
      if (!live || entry.bank() != bank ||
          mapping.kind.load(std::memory_order_relaxed) != MappingKind::Client)
        continue;
      const HandleIndex handle = mapping.handle.load(std::memory_order_relaxed);
      // One that a copy uses at this moment stays, and with it its memory, until it is unmapped.
      if (uninstall(id)) leftovers.push_back(drop_reference(handle));
    }
    handles_.for_each_live([&](HandleIndex index, Physical& physical) {
      if (home_of(physical).bank != bank) return;
      physical.references = physical.map_references;
      withdraw_number(physical);
      if (physical.references == 0) leftovers.push_back(remove_handle(index));
    });
    for (uint32_t place = 0; place < space_.reservation_slots(); ++place) {
      const ReservationId id(place);
      const Reservation& range = space_.live_reservation(id);
      if (range.size_bytes.load(std::memory_order_relaxed) != 0 && !range.internal &&
          range.home.bank == bank && range.mapping_count == 0)
        space_.release(id);
    }
  }
  for (Leftover& leftover : leftovers) leftover.give_back();
}

}  // namespace plat::vmm
