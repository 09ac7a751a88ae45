// SPDX-License-Identifier: Apache-2.0
// How a broken rule reaches the user: the code that the call returns, the message that aclGetRecentErrMsg
// gives, and a line in the log, said once for each rule (repetitions are counted).
#pragma once

#include <atomic>
#include <string>
#include <string_view>
#include <utility>

#include "device/call_places.h"
#include "device/config.h"
#include "rules/rules.h"

namespace plat::device::report {

// Takes the log settings, the choice of rules and the product's driver generation. Called once before the
// first call returns.
void configure(const device::Config& config);

// Names the API function that this thread is in, for the messages of everything below it.
class CallScope {
 public:
  explicit CallScope(const char* function)
      : place_(device::CallPlaces::own()), outer_(place_.function.load(std::memory_order_relaxed)) {
    place_.function.store(function, device::CallPlaces::kAnnounce);
  }
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;
  // What the call did comes before what is done once it is over.
  ~CallScope() { place_.function.store(outer_, std::memory_order_release); }
  static const char* current() { return device::CallPlaces::current(); }
  // Whether it is made from inside another one.
  bool is_nested() const { return *outer_ != 0; }

 private:
  device::CallPlaces::Place& place_;
  const char* outer_;
};

// The call failed: composes the message, keeps it for recent(), logs it, and returns the documented code.
[[gnu::cold]] int raise(const Error& error);
// The same for a failure that surfaces later than the call that caused it: `function` is the call that did.
int raise_for(const char* function, const Error& error);
// The same with another code than the rule's own.
int raise_with(const Error& error, int code);
// The call failed because the process has no memory for what it needs itself. Takes none.
int raise_without_memory();

// Text of this thread's most recent failure; "" if there was none. Never null. It stays where it is until the
// thread has failed 15 times more, or ends.
const char* recent();
// The rule of this thread's most recent failure, for tests and tools; nullptr if there was none.
const rules::Rule* recent_rule();

// The code of this thread's last failure in the runtime: not of arguments that were refused at the door, nor
// of features that are not supported. 0 if there was none. The second forgets it.
int last_code();
int take_last_code();

rules::Severity severity(RuleId rule);

// A rule that the user may relax: fails the call, or warns and lets it go on, or says nothing.
[[gnu::cold]] Result<> soft(const Error& error);
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
struct SourceLine {
  const char* function;
  const char* file;
  uint32_t line;
};
void application(device::LogLevel level, const SourceLine& at, std::string_view text);

rules::Generation generation();

// "VMM-Map-offset-zero aclrtMapMem(offset): ..." as it is shown to people.
std::string compose(const char* function, const Error& error);

}  // namespace plat::device::report

namespace plat {
namespace report = device::report;  // short, because every storey says it
}
