// SPDX-License-Identifier: Apache-2.0
// The numbers of banks, and of what a bank has.
#pragma once

#include "base/id.h"

namespace plat::device {

// A bank: that of a device has the device's physical number, and kHostBank (node.h) is beside them. Who has a
// device and means its memory says BankId(device).
using BankId = Id<struct BankKind>;
using BlockId = Id<struct BlockKind>;  // a block, by its record in the ledger
using KeyId = Id<struct KeyKind>;      // an IPC key, by its record there
using PageId = Id<struct PageKind>;    // 2 MiB of the memory, from the beginning of the file
using SlotId = Id<struct SlotKind>;    // the place of a process in the ledger
using ListId = Id<struct ListKind>;    // a part of a whitelist there

}  // namespace plat::device
