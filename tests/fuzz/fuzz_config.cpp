// SPDX-License-Identifier: Apache-2.0
// Settings from anywhere: whatever the environment and the file say, reading them gives settings that make
// sense or a complaint, and never more than that.
#include <cstdlib>
#include <cstring>
#include <map>

#include "base/text.h"
#include "base/units.h"
#include "device/config.h"

using namespace plat;

namespace {

void require(bool kept) {
  if (!kept) std::abort();
}

// "NAME=value" lines become an environment; the file that PLAT_CONFIG names is read by the parser itself.
std::map<std::string, std::string> environment_of(std::string_view text) {
  std::map<std::string, std::string> environment;
  device::parse_config_text(
      text,
      [&](std::string_view key, std::string_view value) {
        require(key == trim(key) && value == trim(value));
        require(key.find('\n') == key.npos && value.find('#') == value.npos);
        environment[std::string(key)] = std::string(value);
      },
      [](const std::string& problem) { require(!problem.empty()); });
  environment.erase("PLAT_CONFIG");  // files of this machine are no part of the input
  return environment;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto environment = environment_of({reinterpret_cast<const char*>(data), size});
  const device::Config config =
      device::read_config([&](const std::string& name) -> std::optional<std::string> {
        const auto found = environment.find(name);
        return found == environment.end() ? std::nullopt : std::optional(found->second);
      });
  require(config.product != nullptr);
  require(config.device_count >= 1 && config.device_count <= device::kMaxDevices);
  require(config.capacity_bytes >= 2_MiB && is_aligned(config.capacity_bytes, 2_MiB));
  require(config.host_capacity_bytes >= 2_MiB && is_aligned(config.host_capacity_bytes, 2_MiB));
  require(!config.node.empty() && config.node.find('/') == std::string::npos && config.node.front() != '.');
  uint64_t seen = 0;
  for (const uint32_t device : config.visible) {
    require(device < config.device_count && (seen >> device & 1) == 0);
    seen |= uint64_t{1} << device;
  }
  for (const auto& choice : config.rule_choices)
    require(rules::get(choice.rule).kind == rules::Kind::Soft || choice.severity == rules::Severity::Error);
  for (const std::string& complaint : config.complaints) require(!complaint.empty());
  return 0;
}
