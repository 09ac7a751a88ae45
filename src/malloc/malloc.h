// malloc/: the allocation families above the seven steps: device, host, media and stream-ordered memory; and
// what is done with memory: copies, fills, stores and waits.
//
//   DeviceHeap  blocks of device memory, small ones inside 2 MiB pages that this process holds
//   HostHeap    page-locked and registered host memory
//   Locator     where an address lies
//   Mover       moves bytes now, after checking both ranges
//   Copies      the copy calls: which direction, now or in stream order
//   PoolSet     stream-ordered pools
//
// May include: base, os, core, rules, device, vmm, share, stream. Never throws across the API, never follows
// an address that a client passes as a device's. Lock order: PoolSet::mutex_ -> SmallHeap::mutex_ ->
// Vmm::mutex_ -> Ledger; all other mutexes here are leaves.
#pragma once

#include "malloc/allocator_registry.h"
#include "malloc/barriers.h"
#include "malloc/copies.h"
#include "malloc/device_heap.h"
#include "malloc/host_heap.h"
#include "malloc/locate.h"
#include "malloc/mover.h"
#include "malloc/pool_set.h"
