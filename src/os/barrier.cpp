// SPDX-License-Identifier: Apache-2.0
#include "os/barrier.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "os/memory.h"

namespace plat::os {

namespace {

bool barrier(int command) { return syscall(SYS_membarrier, command, 0, 0) == 0; }

bool register_process() {
  return fixed_addresses_allowed() && barrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED);
}

}  // namespace

bool has_process_barrier() {
  static const bool registered = register_process();
  return registered;
}

// A process must have asked for it once; a forked child is a new one.
bool process_barrier() {
  return barrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) ||
         (register_process() && barrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED));
}

}  // namespace plat::os
