// SPDX-License-Identifier: Apache-2.0
// Tasks that fail: who is told, and what of.
#include "acl/entry.h"
#include "acl/exception_callbacks.h"

using namespace plat;
using plat::acl::entry;
using plat::acl::Runtime;

namespace {

constexpr uint32_t kNothing = UINT32_MAX;

Result<> want_function(aclrtExceptionInfoCallback function) {
  if (function != nullptr) return {};
  return fail(RuleId::CallbackFunction, "callback", "callback is null");
}

}  // namespace

extern "C" {

aclError aclrtSetExceptionInfoCallback(aclrtExceptionInfoCallback callback) {
  return entry("aclrtSetExceptionInfoCallback", [&](Runtime& runtime) -> Result<> {
    runtime.exception_callbacks.set(callback);
    return {};
  });
}

aclError aclrtExceptionInfoCallbackRegister(aclrtExceptionInfoCallback callback) {
  return entry("aclrtExceptionInfoCallbackRegister", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want_function(callback));
    runtime.exception_callbacks.add(callback);
    return {};
  });
}

aclError aclrtExceptionInfoCallbackUnregister(aclrtExceptionInfoCallback callback) {
  return entry("aclrtExceptionInfoCallbackUnregister", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want_function(callback));
    runtime.exception_callbacks.remove(callback);
    return {};
  });
}

uint32_t aclrtGetTaskIdFromExceptionInfo(const aclrtExceptionInfo* info) {
  return info == nullptr ? kNothing : info->task;
}

uint32_t aclrtGetStreamIdFromExceptionInfo(const aclrtExceptionInfo* info) {
  return info == nullptr ? kNothing : info->stream;
}

uint32_t aclrtGetThreadIdFromExceptionInfo(const aclrtExceptionInfo* info) {
  return info == nullptr ? kNothing : info->thread;
}

uint32_t aclrtGetDeviceIdFromExceptionInfo(const aclrtExceptionInfo* info) {
  return info == nullptr ? kNothing : info->device;
}

uint32_t aclrtGetErrorCodeFromExceptionInfo(const aclrtExceptionInfo* info) {
  return info == nullptr ? kNothing : info->code;
}

}  // extern "C"
