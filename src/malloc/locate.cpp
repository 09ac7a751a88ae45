#include "malloc/locate.h"

namespace plat::memory {

namespace {
// Automatic and cross-server addresses; programs and the kernel place nothing of their own there.
constexpr uint64_t kDeviceAddressEnd = 80_TiB;
}  // namespace

bool Locator::is_device_address(Va va) const {
  const vmm::AddressSpace& space = devices_.vmm().space();
  if (va.value >> core::kAddressBits != 0) return false;
  if (space.entry(va).tag() == vmm::PageEntry::Mapped) return true;
  return (va.value >= device::kWindowStart && va.value < kDeviceAddressEnd) ||
         space.reservation_at(va) != vmm::kNone;
}

Location Locator::locate(Va va) const {
  Location location;
  const vmm::AddressSpace& space = devices_.vmm().space();
  const vmm::PageEntry entry = va.value >> core::kAddressBits == 0 ? space.entry(va) : vmm::PageEntry{};
  if (entry.tag() == vmm::PageEntry::Mapped) {
    location.translated = true;
    location.bank = entry.bank();
    location.place = entry.bank() == device::kHostBank ? Place::Host : Place::Device;
    return location;
  }
  if (hosts_.find(va)) {
    location.place = Place::Host;
    return location;
  }
  location.is_hole = is_device_address(va);
  return location;
}

}  // namespace plat::memory
