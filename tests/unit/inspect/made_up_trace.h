// SPDX-License-Identifier: Apache-2.0
// Events that nobody recorded, one after the other, and what a check says to them.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "inspect/check/checker.h"

namespace plat::inspect::test {

class MadeUpTrace {
 public:
  explicit MadeUpTrace(CheckOptions options = {}) : checker_(options) {}

  // Every call stands somewhere else.
  MadeUpTrace& apply(Op op, std::array<uint64_t, kFieldsMax> words, const std::string& text = "",
                     uint32_t thread = 1, bool begins = false, int result = 0) {
    Event event;
    event.op = op;
    event.words = words;
    event.text = text;
    event.begins = begins;
    event.result = result;
    event.thread = thread;
    event.number = event.time_ns = ++number_;
    event.stack = static_cast<uint32_t>(number_);
    checker_.apply(event);
    return *this;
  }
  MadeUpTrace& end() {
    checker_.finish();
    return *this;
  }
  std::vector<FailedCall> failed_calls() const { return checker_.failed_calls(); }
  // How many were applied: the number of the last.
  uint64_t events() const { return number_; }
  const std::vector<Finding>& findings() const { return checker_.findings(); }
  std::vector<std::string> rules() const {
    std::vector<std::string> names;
    for (const Finding& finding : findings()) names.emplace_back(rules::get(finding.rule).name);
    return names;
  }
  size_t count(RuleId rule) const {
    return static_cast<size_t>(std::count_if(findings().begin(), findings().end(),
                                             [&](const Finding& finding) { return finding.rule == rule; }));
  }

 private:
  Checker checker_;
  uint64_t number_ = 0;
};

}  // namespace plat::inspect::test
