// SPDX-License-Identifier: Apache-2.0
// Finding what lies behind an address, measured from inside: there the entry of the API does not count.
#pragma once

#include "support/measure.h"

namespace plat::bench {

// Nanoseconds to find, behind a random address among so many mappings, which one it is; and its start and
// size.
struct Lookup {
  Series mapping;
  Series range;
};
Lookup lookup_ns(size_t mappings);

}  // namespace plat::bench
