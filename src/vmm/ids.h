// SPDX-License-Identifier: Apache-2.0
// The numbers of what a process has: places in its tables.
#pragma once

#include "base/id.h"
#include "device/ids.h"

namespace plat::vmm {

using ReservationId = Id<struct ReservationKind>;
using MappingId = Id<struct MappingPlace>;
using HandleIndex = Id<struct HandlePlace>;  // of a physical handle

// What a reservation is bound to: a bank, or memory of other servers that a device imported.
struct Home {
  device::BankId bank = device::BankId::none();  // of the importing device, if elsewhere; none: not bound yet
  bool elsewhere = false;
  friend constexpr bool operator==(Home, Home) = default;
};

}  // namespace plat::vmm
