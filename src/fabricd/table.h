// SPDX-License-Identifier: Apache-2.0
// The table: which server is where. Lines of a server id and an address: "3 host:port"; '#' begins a comment.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "fabricd/outcome.h"

namespace plat::fabricd {

struct ServerAddress {
  std::string host;
  uint32_t port = 0;

  std::string text() const { return fmt::format("{}:{}", host, port); }
};

using Table = std::map<uint32_t, ServerAddress>;

inline constexpr uint32_t kMaxServer = 1022;  // 1023 means that there is none

Outcome<Table> parse_table(std::string_view text);
Outcome<Table> read_table(const std::string& path);

}  // namespace plat::fabricd
