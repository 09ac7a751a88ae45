// Finding what lies behind an address, measured from inside: there the entry of the API does not count.
#pragma once

#include "support/measure.h"

namespace plat::bench {

// Nanoseconds to find the mapping, its start and its size behind a random address among so many.
Series lookup_ns(size_t mappings);

}  // namespace plat::bench
