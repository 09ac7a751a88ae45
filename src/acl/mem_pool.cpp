// SPDX-License-Identifier: Apache-2.0
// The aclrtMemPool calls: pools in stream order.
#include <algorithm>

#include "acl/acl_rt_memory_soma.h"
#include "acl/entry.h"
#include "acl/queue.h"

using namespace plat;
using plat::acl::entry;
using plat::acl::Runtime;
using plat::acl::want;

namespace {

uint64_t pool_of(aclrtMemPool pool) { return va_of(pool).value; }

Result<> check_properties(const aclrtMemPoolProps& props) {
  const bool zeros =
      std::all_of(std::begin(props.reserved), std::end(props.reserved), [](auto byte) { return byte == 0; });
  const bool handle_known =
      props.handleType == ACL_MEM_HANDLE_TYPE_NONE || props.handleType == ACL_MEM_HANDLE_TYPE_POSIX;
  if (props.allocType == ACL_MEM_ALLOCATION_TYPE_PINNED && handle_known &&
      props.location.type == ACL_MEM_LOCATION_TYPE_DEVICE && zeros)
    return {};
  return fail(RuleId::PoolLocation, "poolProps",
              "allocType is {}, handleType is {}, location.type is {}, the reserved bytes are {}",
              static_cast<int>(props.allocType), static_cast<int>(props.handleType),
              static_cast<int>(props.location.type), zeros ? "0" : "not all 0");
}

}  // namespace

extern "C" {

aclError aclrtMemPoolCreate(aclrtMemPool* memPool, const aclrtMemPoolProps* poolProps) {
  return entry("aclrtMemPoolCreate", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(memPool, "memPool"));
    PLAT_TRY(want(poolProps, "poolProps"));
    PLAT_TRY(check_properties(*poolProps));
    PLAT_ASSIGN(device, runtime.node.physical_id(poolProps->location.id, "poolProps->location.id"));
    PLAT_ASSIGN(handle, runtime.pools.create(device::BankId(device), poolProps->maxSize));
    *memPool = pointer_of(Va{handle});
    return {};
  });
}

aclError aclrtMemPoolDestroy(const aclrtMemPool memPool) {
  return entry("aclrtMemPoolDestroy", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(memPool, "memPool"));
    return runtime.pools.destroy(pool_of(memPool), runtime.streams);
  });
}

aclError aclrtMemPoolSetAttr(aclrtMemPool memPool, aclrtMemPoolAttr attr, void* value) {
  return entry("aclrtMemPoolSetAttr",
               [&](Runtime& runtime) { return runtime.pools.set(pool_of(memPool), attr, value); });
}

aclError aclrtMemPoolGetAttr(aclrtMemPool memPool, aclrtMemPoolAttr attr, void* value) {
  return entry("aclrtMemPoolGetAttr",
               [&](Runtime& runtime) { return runtime.pools.get(pool_of(memPool), attr, value); });
}

aclError aclrtMemPoolMallocAsync(void** ptr, size_t size, aclrtMemPool memPool, aclrtStream stream) {
  return entry("aclrtMemPoolMallocAsync", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(ptr, "ptr"));
    PLAT_TRY(want(memPool, "memPool"));
    PLAT_TRY(want(stream, "stream"));
    if (size == 0) return {};
    PLAT_ASSIGN(queue, acl::queue_of(runtime, stream));
    PLAT_ASSIGN(start, runtime.pools.allocate(pool_of(memPool), size, queue.streams, queue.stream));
    *ptr = pointer_of(start);
    return {};
  });
}

aclError aclrtMemPoolFreeAsync(void* ptr, aclrtStream stream) {
  return entry("aclrtMemPoolFreeAsync", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(ptr, "ptr"));
    PLAT_ASSIGN(queue, acl::queue_of(runtime, stream));
    return runtime.pools.free(va_of(ptr), queue.streams, queue.stream);
  });
}

aclError aclrtMemPoolTrimTo(aclrtMemPool memPool, size_t minBytesToKeep) {
  return entry("aclrtMemPoolTrimTo", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(memPool, "memPool"));
    return runtime.pools.trim(pool_of(memPool), minBytesToKeep, runtime.streams);
  });
}

}  // extern "C"
