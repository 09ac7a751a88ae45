// SPDX-License-Identifier: Apache-2.0
// Traces in, findings out: the part of plat check that needs no program.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "inspect/check/checker.h"
#include "inspect/check/formatter.h"
#include "inspect/check/suppressions.h"

namespace plat::cli {

struct CheckRequest {
  inspect::CheckOptions options;
  inspect::Suppressions suppressions;
  inspect::FrameFilter frames;
  bool failed_calls = true;
  bool ended_by_itself = false;    // known to have, even if the trace does not say so
  uint64_t until_ns = UINT64_MAX;  // nothing later is looked at
};

struct CheckAnswer {
  std::vector<inspect::Json> findings;
  std::vector<inspect::Json> failed_calls;  // told, and nothing else: they change no exit code
  std::vector<std::string> notes;
  size_t traces = 0;
  size_t errors = 0;
  size_t warnings = 0;
  size_t suppressed = 0;
  uint64_t events = 0;
  uint64_t peak_bytes = 0;  // of the process that had the most
  uint64_t live_bytes = 0;  // of all
};

// Reads a trace to its end, and adds what there is to say about the trace itself. The symbols are the
// reader's, and stay as long as the answer.
std::unique_ptr<inspect::Checker> check_reader(inspect::Reader& reader, inspect::Symbols& symbols,
                                               const CheckRequest& request, CheckAnswer& answer);

// Adds what one trace shows. False, with a line on stderr, if it is none.
bool check_trace(const std::string& path, CheckRequest& request, CheckAnswer& answer);

// After the last one: what is to be said about the request itself.
void finish_check(CheckRequest& request, CheckAnswer& answer);

}  // namespace plat::cli
