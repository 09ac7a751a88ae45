// SPDX-License-Identifier: Apache-2.0
// Values that are written and awaited in stream order.
#include "acl/acl_rt_copy.h"
#include "acl/entry.h"
#include "acl/queue.h"

using namespace plat;
using plat::acl::entry;
using plat::acl::Runtime;
using plat::acl::want;

namespace {

Result<> check_value(Runtime& runtime, void* devAddr, uint32_t flag, uint32_t flag_max) {
  PLAT_TRY(want(devAddr, "devAddr"));
  const Va va = va_of(devAddr);
  if (flag > flag_max || !is_aligned(va.value, sizeof(uint64_t)) || !runtime.locator.is_device_address(va))
    return fail(RuleId::ValueArguments, "devAddr", "devAddr is {:#x}, {}; flag is {}", va.value,
                runtime.locator.is_device_address(va) ? "on a device" : "no device memory", flag);
  return {};
}

bool satisfied(uint64_t now, uint64_t value, uint32_t flag) {
  switch (flag) {
    case ACL_STREAM_WAIT_VALUE_GEQ:
      return static_cast<int64_t>(now - value) >= 0;
    case ACL_STREAM_WAIT_VALUE_EQ:
      return now == value;
    case ACL_STREAM_WAIT_VALUE_AND:
      return (now & value) != 0;
    default:
      return ~(now | value) != 0;
  }
}

}  // namespace

extern "C" {

aclError aclrtValueWrite(void* devAddr, uint64_t value, uint32_t flag, aclrtStream stream) {
  return entry("aclrtValueWrite", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(check_value(runtime, devAddr, flag, 0));
    PLAT_ASSIGN(queue, acl::queue_of(runtime, stream));
    return queue.give([mover = &runtime.mover, va = va_of(devAddr), value, device = queue.device]() {
      return mover->store(va, value, device);
    });
  });
}

aclError aclrtValueWait(void* devAddr, uint64_t value, uint32_t flag, aclrtStream stream) {
  return entry("aclrtValueWait", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(check_value(runtime, devAddr, flag, ACL_STREAM_WAIT_VALUE_NOR));
    PLAT_ASSIGN(queue, acl::queue_of(runtime, stream));
    return queue.give_poll(
        [mover = &runtime.mover, va = va_of(devAddr), value, flag, device = queue.device]() -> Result<bool> {
          PLAT_ASSIGN(now, mover->load(va, device));
          return satisfied(now, value, flag);
        });
  });
}

}  // extern "C"
