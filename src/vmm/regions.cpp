// SPDX-License-Identifier: Apache-2.0
// Regions of malloc/: reserved, backed and mapped in one step, and taken down in one.
#include "vmm/vmm.h"

namespace plat::vmm {

using core::kPageBytes;

Result<Vmm::Region> Vmm::create_region(const RegionRequest& request) {
  PLAT_ASSIGN(bank, node_.bank(request.bank));
  const uint64_t pages = request.size_bytes / kPageBytes;
  PLAT_ASSIGN(block, bank->allocate(pages, request.info));
  device::HeldBlock held(*bank, block);
  auto region = map_region(request, block);
  if (region) held.keep();
  return region;
}

Result<Vmm::Region> Vmm::map_region(const RegionRequest& request, device::BlockId block) {
  PLAT_ASSIGN(bank, node_.bank(request.bank));
  const std::lock_guard lock(mutex_);
  PLAT_ASSIGN(reservation, space_.reserve(request.size_bytes, request.alignment, request.expected));
  Reservation& range = space_.live_reservation(reservation);
  range.internal = true;
  range.home = {request.bank};
  struct Unfinished {  // also when there is no memory for the mapping
    ~Unfinished() {
      if (!is_finished) space.release(reservation);
    }
    AddressSpace& space;
    ReservationId reservation;
    bool is_finished = false;
  } unfinished{space_, reservation};
  Region region;
  region.start = Va{range.start.load(std::memory_order_relaxed)};
  region.size_bytes = request.size_bytes;
  PLAT_ASSIGN(mapping, install({.start = region.start,
                                .size_bytes = request.size_bytes,
                                .reservation = reservation,
                                .bank = *bank,
                                .block = block,
                                .kind = request.kind,
                                .sub_blocks = request.sub_blocks}));
  region.mapping = mapping;
  unfinished.is_finished = true;
  return region;
}

Result<> Vmm::destroy_region(Va start) {
  Leftover leftover;
  {
    const std::lock_guard lock(mutex_);
    const PageEntry entry = space_.entry(start);
    const Mapping& mapping = space_.live_mapping(entry.mapping());
    const ReservationId reservation = mapping.reservation.load(std::memory_order_relaxed);
    leftover = {node_.open_bank(mapping.bank()), mapping.block, nullptr};
    PLAT_TRY(uninstall(entry.mapping()));
    space_.release(reservation);
  }
  leftover.give_back();
  return {};
}

}  // namespace plat::vmm
