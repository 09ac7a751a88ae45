// SPDX-License-Identifier: Apache-2.0
// plat report --diff: what grew from one run to another.
#pragma once

#include <string>

#include "cli/report_view.h"
#include "inspect/check/symbols.h"

namespace plat::cli {

// 0, or an exit code after a complaint.
int report_difference(const std::string& before, const std::string& after, const inspect::FrameFilter& filter,
                      const ReportView& view, bool json);

}  // namespace plat::cli
