// SPDX-License-Identifier: Apache-2.0
// The page of plat view and plat report --html: web/, with the data of traces in it, complete in itself.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "inspect/check/failed_calls.h"
#include "inspect/check/finding.h"
#include "inspect/check/symbols.h"
#include "inspect/export/history.h"
#include "inspect/trace/reader.h"

namespace plat::cli {

// The data of one trace, packed. nothing, with the reason, if it cannot be read or holds not what is needed.
std::optional<std::string> page_data(const std::string& path, const inspect::FrameFilter& filter,
                                     inspect::Needs needs, std::string& problem);
// The same of what is in memory already.
std::string page_data(const inspect::History& history, const std::string& title,
                      const inspect::FrameFilter& filter, const std::vector<inspect::Finding>& findings,
                      std::vector<inspect::FailedCall> failed_calls, std::vector<std::string> notes);

// A page with these in it, each as page_data() made it.
std::string page_with(const std::vector<std::string>& packed);
// A page that asks its server.
std::string live_page(const std::string& token);

}  // namespace plat::cli
