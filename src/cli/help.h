// SPDX-License-Identifier: Apache-2.0
// What --help looks like.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>

namespace plat::cli {

// Whether a command runs a program, which stands after '--'.
bool takes_program(std::string_view command);

// The parser's own form says how it parses: "--error-exitcode INT:INT in [0 - 255]",
// "--no-leaks{false},--leaks". This one says what to type.
class Help final : public CLI::Formatter {
 public:
  std::string make_usage(const CLI::App* app, std::string name) const override;
  std::string make_option_name(const CLI::Option* option, bool is_positional) const override;
  std::string make_option_opts(const CLI::Option* option) const override;
};

}  // namespace plat::cli
