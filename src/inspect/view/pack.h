// SPDX-License-Identifier: Apache-2.0
// The data of the page: what web/trace.js reads.
//
// A length (4 bytes, and 4 more that are 0), that much JSON, and behind it columns of numbers, each at a
// multiple of 8 bytes; all of it packed by zlib. Numbers are little-endian. What is many has columns: lives,
// steps, stacks, touches, marks, ranges, calls of streams. What is few is in the JSON: names, findings,
// growth, and where each column is.
#pragma once

#include <string>
#include <vector>

#include "inspect/check/finding.h"
#include "inspect/check/formatter.h"
#include "inspect/export/history.h"
#include "inspect/export/named_stacks.h"

namespace plat::inspect {

struct PageData {
  const History& history;
  std::string title;                     // which run this is, where there are several
  const std::vector<Finding>& findings;  // of plat check
  std::vector<FailedCall> failed_calls;
  std::vector<std::string> notes;
};

std::string pack_page_data(const PageData& data, NamedStacks& stacks, Symbols& symbols);

}  // namespace plat::inspect
