// SPDX-License-Identifier: Apache-2.0
// One thing that is wrong, with everything that helps to mend it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "inspect/model/object.h"
#include "rules/rules.h"

namespace plat::inspect {

// A block, mapping, region or the like, as it was when something was found.
struct Related {
  std::string role;  // "accessed", "next", "before", "other"
  Kind kind{};
  uint64_t start = 0;
  uint64_t size = 0;
  std::string name;
  Site born;
  Site died;

  static Related of(std::string role, const Object& object);
};

// What two findings that are the same have in common.
struct Likeness {
  RuleId rule{};
  Op op{};
  bool writes = false;
  uint32_t stack = 0;  // where it shows
  size_t related = 0;
  uint32_t related_stack = 0;  // where the first of them came from

  bool operator==(const Likeness&) const = default;
};

struct Finding {
  RuleId rule{};
  std::string detail;  // the numbers
  Site site;           // where it shows; event 0 for what shows only at the end
  int result = 0;      // what the call returned
  uint64_t address = 0;
  uint64_t size = 0;
  uint64_t stream = 0;
  bool on_stream = false;
  bool writes = false;  // of an access
  std::vector<Related> related;
  uint64_t count = 1;          // how often: the same rule at the same place, about things from the same place
  const char* certainty = "";  // "sure" or "likely", where that is not the same for all of a rule
  bool is_leak = false;
  uint64_t bytes = 0;      // of leaks: together
  bool by_device = false;  // the device warned of it
  std::string call;        // which that was; empty: the one of the site
  std::string program;
  uint32_t pid = 0;

  // What the device warns of is a warning, whatever the rule would be by itself.
  rules::Severity severity() const {
    return by_device ? rules::Severity::Warning : rules::get(rule).severity;
  }
  Likeness likeness() const;
  // Without stacks there is only the text to tell two places apart. What is left is still one thing a call.
  bool is_told_by_text() const { return site.stack == 0 && !is_leak; }
};

}  // namespace plat::inspect
