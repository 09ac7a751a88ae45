// SPDX-License-Identifier: Apache-2.0
// A trace, or the part of it that a check covers, as JSON: what is wrong, and what lived.
#pragma once

#include <string>

#include "inspect/check/checker.h"
#include "inspect/check/formatter.h"

namespace plat::inspect_python {

struct Question {
  std::string trace;
  uint64_t window = 0;  // number of the check; 0: all of the trace
  inspect::CheckOptions options;
  std::string suppressions;  // the text of such a file
  bool objects = false;      // also everything that lived, for a drawing
};

// {"findings": [...], "suppressed", "events", "failed_calls", "peak_bytes", "live_bytes", "lost", "objects":
// [...]}. Throws std::runtime_error, with the reason, if there is no such trace or check.
inspect::Json trace_json(const Question& question);

}  // namespace plat::inspect_python
