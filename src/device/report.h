// SPDX-License-Identifier: Apache-2.0
// How a broken rule reaches the user: the code that the call returns, the message that aclGetRecentErrMsg
// gives, and a line in the log, said once for each rule (repetitions are counted).
#pragma once

#include <string>
#include <string_view>

#include "device/config.h"
#include "rules/rules.h"

namespace plat::report {

// Takes the log settings, the choice of rules and the product's driver generation. Called once before the
// first call returns.
void configure(const device::Config& config);

// Names the API function that this thread is in, for the messages of everything below it.
class CallScope {
 public:
  explicit CallScope(const char* function) : outer_(function_) { function_ = function; }
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;
  ~CallScope() { function_ = outer_; }
  static const char* current() { return function_; }

 private:
  // Every call passes here: one load from the thread's own block, where others would ask the loader.
  [[gnu::tls_model("initial-exec")]] static constinit thread_local const char* function_;

  const char* outer_;
};

// The call failed: composes the message, keeps it for recent(), logs it, and returns the documented code.
int raise(const Error& error);
// The same for a failure that surfaces later than the call that caused it: `function` is the call that did.
int raise_for(const char* function, const Error& error);
// The same with another code than the rule's own.
int raise_with(const Error& error, int code);

// Text of this thread's most recent failure; "" if there was none. Never null. It stays where it is until the
// thread has failed 15 times more, or ends.
const char* recent();
// The rule of this thread's most recent failure, for tests and tools; nullptr if there was none.
const rules::Rule* recent_rule();

rules::Severity severity(RuleId rule);

// A rule that the user may relax: fails the call, or warns and lets it go on, or says nothing.
Result<> soft(const Error& error);
template <class... Args>
Result<> check_soft(bool kept, RuleId rule, std::string_view parameter, fmt::format_string<Args...> format,
                    Args&&... args) {
  if (kept || severity(rule) == rules::Severity::Off) [[likely]]
    return {};
  return soft(Error{rule, std::string(parameter), fmt::format(format, std::forward<Args>(args)...)});
}

// Something worth knowing that breaks no rule.
void info(std::string_view text);
// Something that is wrong although no call fails.
void warning(std::string_view text);
// A line for people, whatever the log level, unless the log is off.
void notice(std::string_view text);

// A line of the program's own, and where it was written.
struct Place {
  const char* function;
  const char* file;
  uint32_t line;
};
void application(device::LogLevel level, const Place& place, std::string_view text);

rules::Generation generation();

// "VMM-Map-offset-zero aclrtMapMem(offset): ..." as it is shown to people.
std::string compose(const char* function, const Error& error);

}  // namespace plat::report
