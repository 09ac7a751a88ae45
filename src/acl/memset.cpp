// SPDX-License-Identifier: Apache-2.0
// Fills.
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
      (location.side == malloc::Side::Unregistered && !location.is_hole))
    return fail(RuleId::FillWords, "ptr", "{} words at {:#x} of {} bytes, which is {}", count, va.value,
                memSize,
                location.side == malloc::Side::Unregistered && !location.is_hole ? "no memory of ACL"
                                                                                 : "memory of ACL");
  return {};
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

}  // extern "C"
