// SPDX-License-Identifier: Apache-2.0
// A report of memory, for the terminal and as JSON.
#pragma once

#include <cstdint>
#include <string>

#include "inspect/check/formatter.h"
#include "inspect/report/report.h"

namespace plat::cli {

struct ReportView {
  size_t rows = 10;
  size_t frames = 3;
  size_t width = 72;  // of the graph
  bool live = false;  // as it is now, not as it was at the peak
};

std::string report_text(const inspect::Report& report, inspect::Symbols& symbols, const ReportView& view);
inspect::Json report_json(const inspect::Report& report, inspect::Symbols& symbols, const ReportView& view);

}  // namespace plat::cli
