// SPDX-License-Identifier: Apache-2.0
// The numbers of what a process has: places in its tables.
#pragma once

#include "base/id.h"

namespace plat::vmm {

using ReservationId = Id<struct ReservationKind>;
using MappingId = Id<struct MappingPlace>;
using HandleIndex = Id<struct HandlePlace>;  // of a physical handle

}  // namespace plat::vmm
