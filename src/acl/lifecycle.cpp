// SPDX-License-Identifier: Apache-2.0
// Callbacks around the start and the end, system parameters, the last error of a thread.
#include "acl/acl_rt_lifecycle.h"

#include "acl/entry.h"

using namespace plat;
using plat::acl::entry;
using plat::acl::Runtime;
using plat::acl::want;

namespace {

// Numbers that are no option at all, and values that an option does not take.
Result<size_t> want_option(aclSysParamOpt option, size_t count) {
  const auto number = static_cast<unsigned>(option);
  if (number < count) return number;
  return fail(RuleId::ArgEnum, "opt", "opt is {}", static_cast<int>(option));
}

Result<> want_value(size_t option, int64_t value) {
  const int64_t most = option == ACL_OPT_DETERMINISTIC ? 3 : 1;
  if (value >= 0 && value <= most) return {};
  return fail(RuleId::OptionValue, "value", "value is {}, option {} takes 0 to {}", value, option, most);
}

Result<> want_level(aclrtLastErrLevel level) {
  if (level == ACL_RT_THREAD_LEVEL) return {};
  return fail(RuleId::ArgEnum, "level", "level is {}", static_cast<int>(level));
}

// Neither call is one that fails: the answer is the code of another, and must not replace it.
aclError last_error(const char* function, aclrtLastErrLevel level, int (*answer)()) {
  int code = 0;
  const aclError refused = entry(function, [&](Runtime&) -> Result<> {
    PLAT_TRY(want_level(level));
    code = answer();
    return {};
  });
  return refused != ACL_SUCCESS ? refused : code;
}

}  // namespace

extern "C" {

aclError aclInitCallbackRegister(aclRegisterCallbackType type, aclInitCallbackFunc cbFunc, void* userData) {
  return entry("aclInitCallbackRegister", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(reinterpret_cast<const void*>(cbFunc), "cbFunc"));
    PLAT_TRY(runtime.init_callbacks.add(type, cbFunc, userData));
    if (const auto config = runtime.start_config()) (void)cbFunc(config->c_str(), config->size(), userData);
    return {};
  });
}

aclError aclInitCallbackUnRegister(aclRegisterCallbackType type, aclInitCallbackFunc cbFunc) {
  return entry("aclInitCallbackUnRegister", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(reinterpret_cast<const void*>(cbFunc), "cbFunc"));
    return runtime.init_callbacks.remove(type, cbFunc);
  });
}

aclError aclFinalizeCallbackRegister(aclRegisterCallbackType type, aclFinalizeCallbackFunc cbFunc,
                                     void* userData) {
  return entry("aclFinalizeCallbackRegister", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(reinterpret_cast<const void*>(cbFunc), "cbFunc"));
    return runtime.finalize_callbacks.add(type, cbFunc, userData);
  });
}

aclError aclFinalizeCallbackUnRegister(aclRegisterCallbackType type, aclFinalizeCallbackFunc cbFunc) {
  return entry("aclFinalizeCallbackUnRegister", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(reinterpret_cast<const void*>(cbFunc), "cbFunc"));
    return runtime.finalize_callbacks.remove(type, cbFunc);
  });
}

aclError aclrtSetSysParamOpt(aclSysParamOpt opt, int64_t value) {
  return entry("aclrtSetSysParamOpt", [&](Runtime& runtime) -> Result<> {
    PLAT_ASSIGN(option, want_option(opt, runtime.options.size()));
    PLAT_TRY(want_value(option, value));
    runtime.options[option].store(value);
    return {};
  });
}

aclError aclrtGetSysParamOpt(aclSysParamOpt opt, int64_t* value) {
  return entry("aclrtGetSysParamOpt", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(value, "value"));
    PLAT_ASSIGN(option, want_option(opt, runtime.options.size()));
    *value = runtime.options[option].load();
    return {};
  });
}

aclError aclrtCtxSetSysParamOpt(aclSysParamOpt opt, int64_t value) {
  return entry("aclrtCtxSetSysParamOpt", [&](Runtime& runtime) -> Result<> {
    PLAT_ASSIGN(option, want_option(opt, stream::kContextOptions));
    PLAT_TRY(want_value(option, value));
    return runtime.streams.contexts().set_option(option, value);
  });
}

aclError aclrtCtxGetSysParamOpt(aclSysParamOpt opt, int64_t* value) {
  return entry("aclrtCtxGetSysParamOpt", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(value, "value"));
    PLAT_ASSIGN(option, want_option(opt, stream::kContextOptions));
    PLAT_ASSIGN(set, runtime.streams.contexts().option(option));
    if (!set) return fail(RuleId::OptionUnset, "opt", "option {} was not set in this context", option);
    *value = *set;
    return {};
  });
}

aclError aclrtPeekAtLastError(aclrtLastErrLevel level) {
  return last_error("aclrtPeekAtLastError", level, report::last_code);
}

aclError aclrtGetLastError(aclrtLastErrLevel level) {
  return last_error("aclrtGetLastError", level, report::take_last_code);
}

}  // extern "C"
