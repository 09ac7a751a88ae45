// SPDX-License-Identifier: Apache-2.0
// A report of memory, for the terminal and as JSON.
#pragma once

#include <cstdint>
#include <string>

#include "inspect/check/told.h"
#include "inspect/report/report.h"

namespace plat::cli {

struct ReportView {
  size_t rows = 10;
  size_t frames = 3;
  size_t width = 72;  // of the graph
  bool maps = false;  // JSON: also where every piece of memory lay at the peak
  bool live = false;  // as it is now, not as it was at the peak
};

std::string report_text(const inspect::Report& report, inspect::Symbols& symbols, const ReportView& view);
inspect::Json report_json(const inspect::Report& report, inspect::Symbols& symbols, const ReportView& view);

// One page for a browser, complete in itself, from what report_json made of each process.
std::string report_html(const inspect::Json& reports);

}  // namespace plat::cli
