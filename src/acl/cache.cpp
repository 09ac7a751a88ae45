// SPDX-License-Identifier: Apache-2.0
// Cache operations: there is no cache, so they check their range in stream order and do nothing to it.
#include "acl/acl_rt_cache.h"

#include "acl/entry.h"
#include "acl/queue.h"

using namespace plat;
using plat::acl::entry;
using plat::acl::Runtime;
using plat::acl::want;
using plat::acl::want_size;

namespace {

struct Descriptor {
  uint64_t magic = 0;
  uint64_t start = 0;
  uint64_t size_bytes = 0;
  uint64_t reserved[5] = {};
};
constexpr uint64_t kMagic = 0x454843414354414C;

Result<> want_type(aclrtCmoType type) {
  if (static_cast<unsigned>(type) <= ACL_RT_CMO_TYPE_FLUSH) return {};
  return fail(RuleId::ArgEnum, "cmoType", "cmoType is {}", static_cast<int>(type));
}

Result<> queue_operation(Runtime& runtime, void* src, size_t size, aclrtCmoType type, uint32_t barrier,
                         aclrtStream stream) {
  PLAT_TRY(want(src, "src"));
  PLAT_TRY(want_size(size, "size"));
  PLAT_TRY(want_type(type));
  PLAT_ASSIGN(queue, acl::queue_of(runtime, stream));
  return queue.give([mover = &runtime.mover, va = va_of(src), size, device = queue.device,
                     operation = copy::Barriers::Operation(runtime.barriers, barrier)]() {
    return mover->check(va, size, device, "src");
  });
}

}  // namespace

extern "C" {

aclError aclrtDeviceL2CacheFlush(void* rsv) {
  return entry("aclrtDeviceL2CacheFlush", [&](Runtime& runtime) -> Result<> {
    if (rsv != nullptr) return fail(RuleId::ArgReserved, "rsv", "rsv is {}", fmt::ptr(rsv));
    PLAT_TRY(acl::current_device(runtime));
    return {};
  });
}

aclError aclrtCmoAsync(void* src, size_t size, aclrtCmoType cmoType, aclrtStream stream) {
  return entry("aclrtCmoAsync",
               [&](Runtime& runtime) { return queue_operation(runtime, src, size, cmoType, 0, stream); });
}

aclError aclrtCmoAsyncWithBarrier(void* src, size_t size, aclrtCmoType cmoType, uint32_t barrierId,
                                  aclrtStream stream) {
  return entry("aclrtCmoAsyncWithBarrier", [&](Runtime& runtime) -> Result<> {
    if ((cmoType == ACL_RT_CMO_TYPE_INVALID) != (barrierId != 0))
      return fail(RuleId::CacheArguments, "barrierId", "cmoType is {}, barrierId is {}",
                  static_cast<int>(cmoType), barrierId);
    return queue_operation(runtime, src, size, cmoType, barrierId, stream);
  });
}

aclError aclrtCmoWaitBarrier(aclrtBarrierTaskInfo* taskInfo, aclrtStream stream, uint32_t flag) {
  return entry("aclrtCmoWaitBarrier", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(taskInfo, "taskInfo"));
    PLAT_TRY(acl::want_zero(flag, "flag"));
    if (taskInfo->barrierNum == 0 || taskInfo->barrierNum > ACL_RT_CMO_MAX_BARRIER_NUM)
      return fail(RuleId::CacheArguments, "taskInfo->barrierNum", "barrierNum is {}", taskInfo->barrierNum);
    PLAT_ASSIGN(queue, acl::queue_of(runtime, stream));
    return queue.give_poll([&barriers = runtime.barriers, info = *taskInfo]() -> Result<bool> {
      for (size_t i = 0; i < info.barrierNum; ++i)
        if (!barriers.has_ended(info.cmoInfo[i].barrierId)) return false;
      return true;
    });
  });
}

aclError aclrtCmoGetDescSize(size_t* size) {
  return entry("aclrtCmoGetDescSize", [&](Runtime&) -> Result<> {
    PLAT_TRY(want(size, "size"));
    *size = sizeof(Descriptor);
    return {};
  });
}

aclError aclrtCmoSetDesc(void* cmoDesc, void* src, size_t size) {
  return entry("aclrtCmoSetDesc", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(cmoDesc, "cmoDesc"));
    PLAT_TRY(want(src, "src"));
    PLAT_TRY(want_size(size, "size"));
    PLAT_ASSIGN(device, acl::current_device(runtime));
    const Descriptor descriptor{kMagic, va_of(src).value, size, {}};
    return runtime.mover.copy(va_of(cmoDesc), va_of(&descriptor), sizeof(descriptor), device);
  });
}

aclError aclrtCmoAsyncWithDesc(void* cmoDesc, aclrtCmoType cmoType, aclrtStream stream, const void* reserve) {
  return entry("aclrtCmoAsyncWithDesc", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(cmoDesc, "cmoDesc"));
    PLAT_TRY(want_type(cmoType));
    PLAT_TRY(acl::want_zero(va_of(reserve).value, "reserve"));
    PLAT_ASSIGN(queue, acl::queue_of(runtime, stream));
    return queue.give([mover = &runtime.mover, at = va_of(cmoDesc), device = queue.device]() -> Result<> {
      Descriptor descriptor;
      PLAT_TRY(mover->copy(va_of(&descriptor), at, sizeof(descriptor), device));
      if (descriptor.magic != kMagic)
        return fail(RuleId::CopyDescriptor, "cmoDesc", "there is no cache descriptor at {:#x}", at.value);
      return mover->check(Va{descriptor.start}, descriptor.size_bytes, device, "cmoDesc");
    });
  });
}

}  // extern "C"
