// SPDX-License-Identifier: Apache-2.0
// Blocks of device, media and host memory, buffers of queues, snapshots, and stream-ordered pools.
#include "acl/acl_rt_mbuf.h"
#include "acl/acl_rt_memory_soma.h"
#include "acl/dvpp/hi_dvpp.h"
#include "acl/ops/acl_dvpp.h"
#include "inspect/record/hook.h"

using Policy = aclrtMemMallocPolicy;
using Config = aclrtMallocConfig;

namespace {

// Where a new buffer lies, asked of the device itself.
uint64_t data_of(aclrtMbuf buffer) {
  static constinit plat::inspect::Next<decltype(&aclrtGetBufData)> next{"aclrtGetBufData"};
  void* data = nullptr;
  size_t size = 0;
  const auto target = next.get();
  return target != nullptr && target(buffer, &data, &size) == 0 ? plat::inspect::word(data) : 0;
}

}  // namespace

PLAT_HOOK(After, aclrtMalloc, (void** p, size_t n, Policy policy), (p, n, policy), OUT(p), V(n), V(policy))
PLAT_HOOK(After, aclrtMallocAlign32, (void** p, size_t n, Policy policy), (p, n, policy), OUT(p), V(n),
          V(policy))
PLAT_HOOK(After, aclrtMallocCached, (void** p, size_t n, Policy policy), (p, n, policy), OUT(p), V(n),
          V(policy))
PLAT_HOOK(After, aclrtMallocWithCfg, (void** p, size_t n, Policy policy, Config* cfg), (p, n, policy, cfg),
          OUT(p), V(n), V(policy))
PLAT_HOOK(After, aclrtMallocForTaskScheduler, (void** p, size_t n, Policy policy, Config* cfg),
          (p, n, policy, cfg), OUT(p), V(n), V(policy))
PLAT_HOOK(Before, aclrtFree, (void* p), (p), V(p))
PLAT_HOOK(Before, aclrtFreeWithDevSync, (void* p), (p), V(p))
PLAT_HOOK(Before, aclrtMemFlush, (void* p, size_t n), (p, n), V(p), V(n))
PLAT_HOOK(Before, aclrtMemInvalidate, (void* p, size_t n), (p, n), V(p), V(n))

PLAT_HOOK(After, acldvppMalloc, (void** p, size_t n), (p, n), OUT(p), V(n))
PLAT_HOOK(After, acldvppMallocWithCfg, (void** p, size_t n, Config* cfg), (p, n, cfg), OUT(p), V(n))
PLAT_HOOK(Before, acldvppFree, (void* p), (p), V(p))
PLAT_HOOK(After, hi_mpi_dvpp_malloc, (hi_u32 device, hi_void** p, hi_u64 n), (device, p, n), OUT(p), V(n))
PLAT_HOOK(Before, hi_mpi_dvpp_free, (hi_void * p), (p), V(p))

PLAT_HOOK(After, aclrtMallocHost, (void** p, size_t n), (p, n), OUT(p), V(n))
PLAT_HOOK(After, aclrtMallocHostWithCfg, (void** p, uint64_t n, Config* cfg), (p, n, cfg), OUT(p), V(n))
PLAT_HOOK(Before, aclrtFreeHost, (void* p), (p), V(p))
PLAT_HOOK(Before, aclrtFreeHostWithDevSync, (void* p), (p), V(p))
PLAT_HOOK(After, aclrtHostRegister, (void* p, uint64_t n, aclrtHostRegisterType type, void** view),
          (p, n, type, view), V(p), V(n), V(type), OUT(view))
PLAT_HOOK(After, aclrtHostRegisterV2, (void* p, uint64_t n, uint32_t flag), (p, n, flag), V(p), V(n), V(flag))
PLAT_HOOK(After, aclrtHostGetDevicePointer, (void* p, void** view, uint32_t flag), (p, view, flag), V(p),
          OUT(view))
PLAT_HOOK(Before, aclrtHostUnregister, (void* p), (p), V(p))

PLAT_HOOK(After, aclrtMemAllocManaged, (void** p, uint64_t n, uint32_t flag), (p, n, flag), OUT(p), V(n),
          V(flag))
PLAT_HOOK(Before, aclrtMemManagedAdvise,
          (const void* const p, uint64_t n, aclrtMemManagedAdviseType advice, aclrtMemManagedLocation place),
          (p, n, advice, place), V(p), V(n), V(advice), V(place.type), V(place.id))
PLAT_HOOK(Before, aclrtMemP2PMap, (void* p, size_t n, int32_t device, uint64_t flags), (p, n, device, flags),
          V(p), V(n), V(device))

PLAT_HOOK(After, aclrtAllocBuf, (aclrtMbuf * buffer, size_t n), (buffer, n), OUT(buffer), V(n),
          result == 0 && buffer != nullptr ? data_of(*buffer) : 0)
PLAT_HOOK(Before, aclrtFreeBuf, (aclrtMbuf buffer), (buffer), V(buffer))
PLAT_HOOK(After, aclrtCopyBufRef, (const aclrtMbuf buffer, aclrtMbuf* copy), (buffer, copy), OUT(copy),
          V(buffer))
PLAT_HOOK(After, aclrtAppendBufChain, (aclrtMbuf head, aclrtMbuf buffer), (head, buffer), V(buffer), V(head))

PLAT_HOOK(After, aclrtSnapShotProcessLock, (int pid, void* reserve), (pid, reserve))
PLAT_HOOK(Before, aclrtSnapShotProcessUnlock, (int pid, void* reserve), (pid, reserve))
PLAT_HOOK(After, aclrtSnapShotProcessBackup, (int pid, aclrtSnapShotBackupArgs* args), (pid, args))
PLAT_HOOK(After, aclrtSnapShotProcessRestore, (int pid, aclrtSnapShotRestoreArgs* args), (pid, args))

PLAT_HOOK(After, aclrtMemPoolCreate, (aclrtMemPool * pool, const aclrtMemPoolProps* props), (pool, props),
          OUT(pool), props != nullptr ? V(props->maxSize) : 0)
PLAT_HOOK(Before, aclrtMemPoolDestroy, (const aclrtMemPool pool), (pool), V(pool))
PLAT_HOOK(After, aclrtMemPoolMallocAsync, (void** p, size_t n, aclrtMemPool pool, aclrtStream stream),
          (p, n, pool, stream), OUT(p), V(n), V(pool), V(stream))
PLAT_HOOK(Before, aclrtMemPoolFreeAsync, (void* p, aclrtStream stream), (p, stream), V(p), V(stream))
PLAT_HOOK(After, aclrtMemPoolTrimTo, (aclrtMemPool pool, size_t keep), (pool, keep), V(pool), V(keep))
