// SPDX-License-Identifier: Apache-2.0
// Calling functions of the client's, which may do what they must not: throw, or end their thread.
#pragma once

#include <cxxabi.h>

#include <exception>
#include <utility>

#include "base/result.h"
#include "os/thread_sanitizer.h"
#include "rules/rules.h"
#include "stream/stream.h"

namespace plat::stream {

// An exception is an error of the client's. A thread that ends cannot be kept (the unwinding goes on, and
// what lives on the stack is destroyed): `ending` is told the error before.
template <class Ending>
Result<> call_client(const HostCall& call, const char* what, const Ending& ending) {
  os::tsan::tell_after(&os::tsan::g_handed_over);
  os::tsan::tell_after(&os::tsan::g_done);
  const struct Done {
    ~Done() { os::tsan::tell_before(&os::tsan::g_done); }
  } done;
  const os::tsan::Watched watched;
  try {
    call.function(call.argument);
  } catch (const abi::__forced_unwind&) {
    ending(Error{RuleId::CallbackReturn, "fn", fmt::format("the {} ended its thread", what)});
    throw;
  } catch (const std::exception& thrown) {
    return fail(RuleId::CallbackReturn, "fn", "the {} threw an exception: {}", what, thrown.what());
  } catch (...) {
    return fail(RuleId::CallbackReturn, "fn", "the {} threw something that is no std::exception", what);
  }
  return {};
}

}  // namespace plat::stream
