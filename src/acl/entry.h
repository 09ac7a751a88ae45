// SPDX-License-Identifier: Apache-2.0
// The guard around every entry point: it names the call for messages, turns an Error into its code, and lets
// no exception out.
#pragma once

#include <cxxabi.h>

#include <exception>
#include <new>
#include <utility>

#include "acl/acl_base.h"
#include "acl/call_gate.h"
#include "acl/runtime.h"
#include "device/fault.h"
#include "device/report.h"
#include "os/thread_sanitizer.h"
#include "os/uncancelled.h"
#include "rules/rules.h"

namespace plat::acl {

// A forked child that has not started afresh.
Error stale_child_error();
Error exception_error(const char* what);

inline aclError code_of(const Result<>& result) {
  if (result) [[likely]]
    return ACL_SUCCESS;
  return report::raise(result.error());
}

// What ThreadSanitizer is to know of a call, where the program has it: it hands work over, or comes after
// work.
class SanitizedCall {
 public:
  explicit SanitizedCall(const char* function);
  SanitizedCall(const SanitizedCall&) = delete;
  SanitizedCall& operator=(const SanitizedCall&) = delete;
  ~SanitizedCall() {
    if (waits_) os::tsan::tell_after(&os::tsan::g_done);
  }

 private:
  bool waits_;
  os::tsan::Unwatched unwatched_;
};

// A call under a fault plan, or under ThreadSanitizer.
template <class Body>
[[gnu::noinline]] aclError under_fault_plan(const char* function, const Body& body) {
  const os::Uncancelled whole;  // the plan may let it wait
  const SanitizedCall sanitized(function);
  const struct Ending {
    ~Ending() { fault::end_call(); }
  } ending;
  if (const auto failure = fault::begin_call(function))
    return report::raise_with(failure->error, failure->code);
  return code_of(body());
}

// A call that neither waits nor asks the system for anything, unless it says so itself (os/uncancelled.h).
template <class Body>
aclError quick_entry(const char* function, Body&& body) {
  const report::CallScope scope(function);
  if (is_stale_child()) [[unlikely]]
    return report::raise(stale_child_error());
  try {
    if (CallGate::is_closed()) [[unlikely]]
      CallGate::instance().pass(scope, function);
    Runtime& here = runtime();
    if (fault::armed()) [[unlikely]]
      return under_fault_plan(function, [&] { return body(here); });
    return code_of(body(here));
  } catch (const abi::__forced_unwind&) {
    throw;  // A callback of the client's ends the thread, and nothing may stop that.
  } catch (const std::bad_alloc&) {
    return report::raise_without_memory();
  } catch (const std::exception& problem) {
    return report::raise(exception_error(problem.what()));
  } catch (...) {
    return report::raise(exception_error("unknown exception"));
  }
}

// entry("aclrtMallocPhysical", [&](Runtime& runtime) -> Result<> { ... })
template <class Body>
aclError entry(const char* function, Body&& body) {
  const os::Uncancelled whole;
  return quick_entry(function, std::forward<Body>(body));
}

// Argument checks that many calls share: in line, so that what is right makes no Result.
[[gnu::always_inline]] inline Result<> want(const void* pointer, const char* parameter) {
  if (pointer != nullptr) [[likely]]
    return {};
  return fail(RuleId::ArgNull, parameter, "{} is null", parameter);
}
[[gnu::always_inline]] inline Result<> want_size(uint64_t size_bytes, const char* parameter) {
  if (size_bytes != 0) [[likely]]
    return {};
  return fail(RuleId::ArgZeroSize, parameter, "{} is 0", parameter);
}
[[gnu::always_inline]] inline Result<> want_zero(uint64_t value, const char* parameter) {
  if (value == 0) [[likely]]
    return {};
  return fail(RuleId::ArgReserved, parameter, "{} is {}, only 0 is known", parameter, value);
}

}  // namespace plat::acl
