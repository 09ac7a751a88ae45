// SPDX-License-Identifier: Apache-2.0
#include "cli/run_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <set>

#include "cli/settings.h"
#include "os/child.h"
#include "os/environment.h"
#include "os/file.h"

namespace plat::cli {

namespace {

// Settings that describe a machine: a program that asks for them wants one like that, and not to quarrel with
// whoever runs on the common one.
constexpr std::array kMachineSettings = {"product", "devices", "capacity", "host_capacity"};

std::string from_environment(const char* name) { return os::variable(name).value_or(""); }

std::string in_front(const std::string& first, const std::string& rest) {
  return rest.empty() ? first : first + ":" + rest;
}

std::set<std::string> keys_of_file(const std::string& path) {
  std::set<std::string> keys;
  if (const auto text = os::read_small_file(path))
    device::parse_config_text(
        *text,
        [&](std::string_view key, std::string_view value) {
          if (!value.empty()) keys.emplace(key);
        },
        [](const std::string&) {});
  return keys;
}

void add_install_tree(std::map<std::string, std::string>& variables, const std::string& prefix) {
  variables["ASCEND_HOME_PATH"] = prefix;
  variables["ASCEND_TOOLKIT_HOME"] = prefix;
  variables["LD_LIBRARY_PATH"] = in_front(prefix + "/lib64", from_environment("LD_LIBRARY_PATH"));
  const std::string python = prefix + "/python/site-packages";
  if (os::file_exists(python)) variables["PYTHONPATH"] = in_front(python, from_environment("PYTHONPATH"));
}

// The library names environment variables; who typed an option should read about the option.
void speak_of_options(std::vector<std::string>& complaints, const RunOptions& options) {
  std::map<std::string, std::string> given = options.settings;
  if (!options.faults.empty()) given["fault"];
  for (std::string& complaint : complaints)
    for (const auto& [key, value] : given) {
      const std::string prefix = variable_name(key) + "=";
      if (complaint.starts_with(prefix)) complaint = option_name(key) + " " + complaint.substr(prefix.size());
    }
}

}  // namespace

std::string variable_name(const std::string& key) {
  std::string name = "PLAT_" + key;
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::toupper(c); });
  return name;
}

std::string option_name(const std::string& key) {
  std::string name = "--" + key;
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

RunPlan plan_run(const RunOptions& options, const std::string& prefix, const os::ProcessIdentity& process) {
  RunPlan plan;
  auto& variables = plan.variables;
  if (!options.config_file.empty()) variables["PLAT_CONFIG"] = options.config_file;
  if (!options.visible.empty()) variables["ASCEND_RT_VISIBLE_DEVICES"] = options.visible;
  for (const auto& [key, value] : options.settings) variables[variable_name(key)] = value;
  if (options.quiet) variables["PLAT_QUIET"] = "1";
  if (!options.rules.empty()) {
    const auto given = options.settings.find("rules");
    const std::string before =
        given != options.settings.end() ? given->second : from_environment("PLAT_RULES");
    variables["PLAT_RULES"] =
        fmt::format("{}{}{}", before, before.empty() ? "" : ",", fmt::join(options.rules, ","));
  }
  if (!options.faults.empty()) variables["PLAT_FAULT"] = fmt::format("{}", fmt::join(options.faults, ";"));
  const std::set<std::string> in_file = keys_of_file(options.config_file);
  const bool node_is_chosen =
      options.settings.contains("node") || in_file.contains("node") || !from_environment("PLAT_NODE").empty();
  const bool wants_machine =
      std::any_of(kMachineSettings.begin(), kMachineSettings.end(),
                  [&](const char* key) { return options.settings.contains(key) || in_file.contains(key); });
  if (wants_machine && !node_is_chosen) {
    // Containers may share the directory, and each has a process of the same number.
    plan.own_node = fmt::format("run-{}-{}", process.pid, process.pid_namespace);
    variables["PLAT_NODE"] = plan.own_node;
  }
  plan.config = settings_with(variables);
  speak_of_options(plan.config.complaints, options);
  add_install_tree(variables, prefix);
  if (!os::file_exists(prefix + "/lib64/libascendcl.so"))
    plan.problem = fmt::format(
        "{}/lib64/libascendcl.so is not there: the device is not installed beside this command. The package "
        "'plat' has it, plat-inspector alone does not; check, record and report work over another library",
        prefix);
  return plan;
}

}  // namespace plat::cli
