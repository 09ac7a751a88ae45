// SPDX-License-Identifier: Apache-2.0
// Findings that are known and not to be told again.
//
// A file of lines "RULE PATTERN...": the rule's id and, each as a shell pattern, texts that frames of the
// finding must match, in any of its stacks. '#' begins a comment.
//
//   INSP-Leak-*              *vendor_init*
//   INSP-Read-unwritten      checksum*  *main.cpp:*
#pragma once

#include <string>
#include <vector>

#include "inspect/check/formatter.h"

namespace plat::inspect {

class Suppressions {
 public:
  // Adds the lines of a file's text; the number of the first line that makes no sense, 0 if all do.
  size_t add(const std::string& text);
  bool covers(const Json& finding);
  // Lines that covered nothing: they may be out of date.
  std::vector<std::string> unused() const;

 private:
  struct Line {
    std::string text;
    std::string rule;
    std::vector<std::string> patterns;
    bool used = false;
  };
  std::vector<Line> lines_;
};

// The line that would suppress a finding.
std::string suppression_for(const Json& finding);

}  // namespace plat::inspect
