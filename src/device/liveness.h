// Whether the process behind a slot of a control file is still there. Needs no lock and no slot of its own.
#pragma once

#include "device/ledger_layout.h"
#include "os/file.h"

namespace plat::device {

// Alive is who holds the slot's byte lock; the kernel drops it with the process. A process that closed files
// that were not its own has lost the lock, but it still maps the control file.
bool slot_is_alive(int control_fd, const os::FileIdentity& control, uint32_t slot, const ProcessSlot& record,
                   uint64_t my_pid_namespace);

}  // namespace plat::device
