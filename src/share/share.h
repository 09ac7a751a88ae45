// share/: memory that leaves the process: shareable handles of physical memory, and IPC keys of aclrtMalloc
// blocks.
//
// What is shared lives in the ledger of its device, so it survives the process that exported it for as long
// as somebody holds the memory. A number or a key is a secret: it carries random bits that the ledger
// compares. Whitelists are semantics, not security: processes of one user can reach each other's memory
// anyway. May include: base, os, core, rules, device, vmm. Lock order: Ipc::mutex_ -> Vmm::mutex_ -> Ledger.
#pragma once

#include "share/ipc.h"
#include "share/shareable.h"
