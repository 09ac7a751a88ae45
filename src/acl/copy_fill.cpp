// SPDX-License-Identifier: Apache-2.0
// Fills, and values that are written and awaited in stream order.
#include "acl/acl_rt_copy.h"
#include "acl/entry.h"
#include "acl/queue.h"

using namespace plat;
using plat::acl::entry;
using plat::acl::Runtime;
using plat::acl::want;

namespace {

Result<> check_fill(void* devPtr, size_t maxCount, size_t count) {
  PLAT_TRY(want(devPtr, "devPtr"));
  if (count > maxCount)
    return fail(RuleId::FillTooLong, "count", "count is {}, maxCount is {}", count, maxCount);
  return {};
}

Result<> check_words(Runtime& runtime, void* ptr, size_t memSize, size_t count) {
  PLAT_TRY(want(ptr, "ptr"));
  const Va va = va_of(ptr);
  const malloc::Location location = runtime.locator.locate(va);
  if (!is_aligned(va.value, sizeof(uint32_t)) || memSize / sizeof(uint32_t) < count ||
      (location.place == malloc::Place::Unregistered && !location.is_hole))
    return fail(RuleId::FillWords, "ptr", "{} words at {:#x} of {} bytes, which is {}", count, va.value,
                memSize,
                location.place == malloc::Place::Unregistered && !location.is_hole ? "no memory of ACL"
                                                                                   : "memory of ACL");
  return {};
}

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

aclError aclrtMemset(void* devPtr, size_t maxCount, int32_t value, size_t count) {
  return entry("aclrtMemset", [&](Runtime& runtime) -> Result<> {
    if (count == 0) return {};
    PLAT_TRY(check_fill(devPtr, maxCount, count));
    PLAT_ASSIGN(device, acl::current_device(runtime));
    return runtime.copies.fill(va_of(devPtr), count, static_cast<uint8_t>(value), device);
  });
}

aclError aclrtMemsetAsync(void* devPtr, size_t maxCount, int32_t value, size_t count, aclrtStream stream) {
  return entry("aclrtMemsetAsync", [&](Runtime& runtime) -> Result<> {
    if (count == 0) return {};
    PLAT_TRY(check_fill(devPtr, maxCount, count));
    PLAT_ASSIGN(queue, acl::queue_of(runtime, stream));
    return runtime.copies.queue_fill(va_of(devPtr), count, static_cast<uint8_t>(value), queue);
  });
}

aclError aclrtMemsetD32(void* ptr, size_t memSize, uint32_t value, size_t N) {
  return entry("aclrtMemsetD32", [&](Runtime& runtime) -> Result<> {
    if (N == 0) return {};
    PLAT_TRY(check_words(runtime, ptr, memSize, N));
    PLAT_ASSIGN(device, acl::current_device(runtime));
    return runtime.mover.fill_words(va_of(ptr), N, value, device);
  });
}

aclError aclrtMemsetD32Async(void* ptr, size_t memSize, uint32_t value, size_t N, aclrtStream stream) {
  return entry("aclrtMemsetD32Async", [&](Runtime& runtime) -> Result<> {
    if (N == 0) return {};
    PLAT_TRY(check_words(runtime, ptr, memSize, N));
    PLAT_ASSIGN(queue, acl::queue_of(runtime, stream));
    return runtime.copies.queue_fill_words(va_of(ptr), N, value, queue);
  });
}

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
