// SPDX-License-Identifier: Apache-2.0
// Whether the process behind a slot of a control file is still there. Needs no lock and no slot of its own.
#pragma once

#include "device/ledger_layout.h"

namespace plat::device {

// Alive is who holds the slot's byte lock. The kernel drops it with the process, and not before: closing the
// file is not enough, because the mapping of the file keeps it, and exec takes that away.
//
// One thing can outlive the process: a child that was forked from it and keeps the file open holds the lock
// too. So a slot in use (state Live) whose process is known to be gone is dead, whoever holds the byte. That
// is known only of pids of our own namespace, `my_namespace`; 0 when it cannot be found out.
bool slot_is_alive(int control_fd, SlotId slot, const ProcessSlot& record, uint64_t my_namespace);

// Whether any process uses the file. Who holds the attach lock can rely on it; others may miss a process that
// is joining at this moment.
bool anybody_lives(int control_fd);

}  // namespace plat::device
