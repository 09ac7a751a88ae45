// Whether the process behind a slot of a control file is still there. Needs no lock and no slot of its own.
#pragma once

#include "device/ledger_layout.h"

namespace plat::device {

// Alive is who holds the slot's byte lock. The kernel drops it with the process, and not before: closing the
// file is not enough, because the mapping of the file keeps it, and exec takes that away.
bool slot_is_alive(int control_fd, uint32_t slot);

}  // namespace plat::device
