// SPDX-License-Identifier: Apache-2.0
// What the fabric daemon of a machine tells: which servers hold its memory, and whose memory it uses.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

namespace plat::cli {

// Nothing (null) when no daemon runs. One that does not answer in time is told by its "pid" and "silent",
// one of another version by "other_version".
using FabricStatus = nlohmann::ordered_json;
FabricStatus ask_fabric(const std::string& directory, const std::string& node, int timeout_ms);

// Everything, for 'plat fabric status'.
std::string fabric_text(const FabricStatus& status);

// Which servers hold memory of a device ("host" or its number): lines that stand below it.
std::string remote_holders_text(const FabricStatus& status, const nlohmann::ordered_json& device,
                                const std::string& indent);

// Bytes a second since the last look, by server.
class FabricRates {
 public:
  struct Rate {
    double written = 0, read = 0;
  };
  std::map<uint32_t, Rate> update(const FabricStatus& status, uint64_t now_ns);

 private:
  struct Total {
    uint64_t written = 0, read = 0;
  };
  std::map<uint32_t, Total> last_;
  uint64_t last_ns_ = 0;
};

// What 'plat info' and 'plat top' show below the devices: whose memory the machine uses, a line for each
// server and each process, with rates where they are given. Nothing where no daemon runs.
std::string fabric_section(const FabricStatus& status, const std::map<uint32_t, FabricRates::Rate>& rates);

}  // namespace plat::cli
