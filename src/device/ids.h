// SPDX-License-Identifier: Apache-2.0
// The numbers of what a bank has.
#pragma once

#include "base/id.h"

namespace plat::device {

using BlockId = Id<struct BlockKind>;  // a block, by its record in the ledger
using PageId = Id<struct PageKind>;    // 2 MiB of the memory, from the beginning of the file

}  // namespace plat::device
