// SPDX-License-Identifier: Apache-2.0
#include "acl/entry.h"

#include <algorithm>
#include <string_view>

#include "os/process.h"

namespace plat::acl {

namespace {

bool names_any(std::string_view function, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return function.find(word) != std::string_view::npos; });
}

}  // namespace

SanitizedCall::SanitizedCall(const char* function)
    : waits_(names_any(
          function, {"Synchronize", "Query", "Status", "Process", "Abort", "Destroy", "Reset", "Finalize"})) {
  if (names_any(function, {"Launch"})) os::tsan::tell_before(&os::tsan::g_handed_over);
  // Who waits for the record comes after what its thread did before.
  if (names_any(function, {"Record"})) os::tsan::tell_before(&os::tsan::g_done);
}

Error stale_child_error() {
  return Error{RuleId::DeviceForked, "",
               fmt::format("process {} was forked from one that uses the device", os::process_id())};
}

Error exception_error(const char* what) {
  return Error{RuleId::DeviceInternal, "", fmt::format("exception: {}", what)};
}

}  // namespace plat::acl
