// SPDX-License-Identifier: Apache-2.0
// The numbers of what a bank has. That of a bank itself is no kind of its own: it is the physical number of
// its device, and kHostBank (node.h) beside them; whoever has the one asks of the other.
#pragma once

#include "base/id.h"

namespace plat::device {

using BlockId = Id<struct BlockKind>;  // a block, by its record in the ledger
using KeyId = Id<struct KeyKind>;      // an IPC key, by its record there
using PageId = Id<struct PageKind>;    // 2 MiB of the memory, from the beginning of the file

}  // namespace plat::device
