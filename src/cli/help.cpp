// SPDX-License-Identifier: Apache-2.0
#include "cli/help.h"

#include <fmt/format.h>

namespace plat::cli {

bool takes_program(std::string_view command) {
  return command == "run" || command == "record" || command == "check";
}

namespace {

// Types come with their checks behind a colon: "TEXT:{a,b}", "INT:INT in [0 - 255]", "SIZE:...".
std::string what_to_type(const std::string& type) {
  const size_t colon = type.find(':');
  std::string name = type.substr(0, colon);
  const bool is_named = name != "TEXT" && name != "INT" && name != "UINT" && name != "FLOAT";
  if (is_named) return name;
  std::string check = colon != std::string::npos ? type.substr(colon + 1) : "";
  if (check.starts_with("{")) return check;
  const size_t range = check.find('[');
  if (range == std::string::npos) return name == "TEXT" ? name : "NUMBER";
  std::string limits = check.substr(range);
  if (const size_t dash = limits.find(" - "); dash != std::string::npos) limits.replace(dash, 3, "..");
  return limits;
}

}  // namespace

std::string Help::make_usage(const CLI::App* app, std::string name) const {
  std::string usual = CLI::Formatter::make_usage(app, name);
  if (!takes_program(app->get_name())) return usual;
  std::string text = fmt::format("Usage: {} [OPTIONS] -- PROGRAM ARGUMENTS\n", name);
  for (const CLI::Option* const option : app->get_options())
    if (option->get_positional() || option->check_lname("pid"))
      text += fmt::format("       {} [OPTIONS] {}{}\n", name, option->get_positional() ? "" : "--pid ",
                          option->get_type_name());
  return text + "\n";
}

std::string Help::make_option_name(const CLI::Option* option, bool is_positional) const {
  const std::string name = option->get_name(is_positional, !is_positional);
  // Of a flag with a contrary, "--no-leaks{false},--leaks": the one that changes something.
  return name.substr(0, name.find('{'));
}

std::string Help::make_option_opts(const CLI::Option* option) const {
  if (option->get_type_size() == 0) return "";
  const bool many = option->get_expected_max() > 1;
  return fmt::format(" {}{}", what_to_type(option->get_type_name()), many ? "..." : "");
}

}  // namespace plat::cli
