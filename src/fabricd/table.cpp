// SPDX-License-Identifier: Apache-2.0
#include "fabricd/table.h"

#include "base/text.h"
#include "os/file.h"

namespace plat::fabricd {

Outcome<Table> parse_table(std::string_view text) {
  Table table;
  for (unsigned number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    line = trim(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    const size_t gap = std::min(line.find_first_of(" \t"), line.size());
    const auto server = parse_number(line.substr(0, gap));
    const std::string_view address = trim(line.substr(gap));
    const size_t colon = address.rfind(':');
    // Without a colon all of it is the host, and the port missing.
    const uint64_t port = parse_number(address.substr(std::min(colon, address.size() - 1) + 1)).value_or(0);
    if (!server || *server > kMaxServer || colon == 0 || port == 0 || port > 65535)
      return trouble(Cause::NoServer, "line {}: '{}' is not 'SERVER HOST:PORT' with a server of 0 to {}",
                     number, line, kMaxServer);
    const ServerAddress known{std::string(address.substr(0, colon)), static_cast<uint32_t>(port)};
    for (const auto& [other, at] : table) {
      if (other == *server)
        return trouble(Cause::NoServer, "line {}: server {} stands twice, at {} and at {}", number, other,
                       at.text(), known.text());
      if (at.host == known.host && at.port == known.port)
        return trouble(Cause::NoServer, "line {}: {} is server {} and server {}", number, known.text(), other,
                       *server);
    }
    table.emplace(static_cast<uint32_t>(*server), known);
  }
  return table;
}

Outcome<Table> read_table(const std::string& path) {
  const auto text = os::read_small_file(path);
  if (!text) return trouble(Cause::NoServer, "PLAT_FABRIC={}: the file cannot be read", path);
  auto table = parse_table(*text);
  if (!table) return trouble(Cause::NoServer, "PLAT_FABRIC={}: {}", path, table.error().text);
  return table;
}

}  // namespace plat::fabricd
