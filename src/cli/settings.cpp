// SPDX-License-Identifier: Apache-2.0
#include "cli/settings.h"

#include <fmt/format.h>

#include <cstdio>

#include "device/node.h"
#include "os/environment.h"

namespace plat::cli {

device::Config settings_with(const std::map<std::string, std::string>& variables) {
  device::Config config = device::read_config([&](const std::string& name) -> std::optional<std::string> {
    if (const auto found = variables.find(name); found != variables.end()) return found->second;
    return os::variable(name);
  });
  if (config.directory.empty()) config.directory = device::Node::default_directory();
  return config;
}

bool settings_make_sense(const device::Config& config) {
  for (const std::string& complaint : config.complaints) fmt::print(stderr, "plat: {}\n", complaint);
  if (!config.complaints.empty())
    fmt::print(stderr, "'plat run --settings' lists the settings and what they take.\n");
  return config.complaints.empty();
}

}  // namespace plat::cli
