// SPDX-License-Identifier: Apache-2.0
// What plat top shows of the inside of a process on a screen: pools, and who
// holds memory, sorted.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "inspect/check/symbols.h"
#include "inspect/report/report.h"

namespace plat::cli {

enum class SortBy { Bytes, Grown, Count, Births };
const char* name_of(SortBy order);
SortBy next_of(SortBy order);

// Between one look and the next.
class TopView {
 public:
  SortBy order = SortBy::Bytes;

  std::vector<std::string> lines(const inspect::Report& report, inspect::Symbols& symbols);

 private:
  using Key = std::tuple<inspect::Kind, std::string, uint32_t>;
  std::map<Key, uint64_t> first_;  // bytes when we began to look
  uint64_t first_bytes_ = 0, last_bytes_ = 0;
  bool has_looked_ = false;
};

}  // namespace plat::cli
