// SPDX-License-Identifier: Apache-2.0
// What happens when the host touches device memory: a report, and then what would have happened anyway.
#pragma once

#include <optional>

#include "vmm/freed_block.h"
#include "vmm/vmm.h"

namespace plat::vmm {

// Runs in the handler of a signal.
using FindFreed = std::optional<FreedBlock> (*)(Va);

// Looks at every segmentation fault of the process. One at a device address, or where a block was freed, is
// explained on stderr; then, as for all others, the handler that was there before (the program's, a
// sanitizer's, or the default) gets it.
void explain_host_faults(const Vmm& vmm, FindFreed find_freed);

}  // namespace plat::vmm
