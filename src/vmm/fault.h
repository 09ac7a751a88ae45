// What happens when the host touches device memory: a report, and then what would have happened anyway.
#pragma once

#include "vmm/vmm.h"

namespace plat::vmm {

// Looks at every segmentation fault of the process. One at a device address is explained on stderr; then, as
// for all others, the handler that was there before (the program's, a sanitizer's, or the default) gets it.
void explain_host_faults(const Vmm& vmm);

}  // namespace plat::vmm
