// SPDX-License-Identifier: Apache-2.0
#include "cli/parser.h"

#include <CLI/CLI.hpp>

namespace plat::cli {

Option& Option::type_name(const std::string& name) {
  option_->type_name(name);
  return *this;
}

Option& Option::required() {
  option_->required();
  return *this;
}

Option& Option::excludes(const char* other) {
  option_->excludes(other);
  return *this;
}

Option& Option::one_value_each() {
  option_->allow_extra_args(false);
  return *this;
}

Option& Option::range(int least, int most) {
  option_->check(CLI::Range(least, most));
  return *this;
}

Option& Option::range(double least, double most) {
  option_->check(CLI::Range(least, most));
  return *this;
}

Option& Option::not_negative() {
  option_->check(CLI::NonNegativeNumber);
  return *this;
}

Option& Option::more_than_zero() {
  option_->check(CLI::PositiveNumber);
  return *this;
}

Option& Option::one_of(const std::vector<std::string>& values) {
  option_->check(CLI::IsMember(values));
  return *this;
}

void Parser::description(const char* text) { app_.description(text); }

Option Parser::add_flag(const char* names, bool& value, const char* meaning) {
  return Option(app_.add_flag(names, value, meaning));
}

Option Parser::add_option(const char* names, std::string& value, const char* meaning) {
  return Option(app_.add_option(names, value, meaning));
}

Option Parser::add_option(const char* names, std::vector<std::string>& values, const char* meaning) {
  return Option(app_.add_option(names, values, meaning));
}

Option Parser::add_option(const char* names, int& value, const char* meaning) {
  return Option(app_.add_option(names, value, meaning));
}

Option Parser::add_option(const char* names, uint32_t& value, const char* meaning) {
  return Option(app_.add_option(names, value, meaning));
}

Option Parser::add_option(const char* names, uint64_t& value, const char* meaning) {
  return Option(app_.add_option(names, value, meaning));
}

Option Parser::add_option(const char* names, double& value, const char* meaning) {
  return Option(app_.add_option(names, value, meaning));
}

Option Parser::add_option(const std::string& names, std::function<void(const std::string&)> take,
                          const std::string& meaning) {
  return Option(app_.add_option_function<std::string>(
      names,
      [names, take = std::move(take)](const std::string& value) {
        try {
          take(value);
        } catch (const BadValue& problem) {
          throw CLI::ValidationError(names, problem.what());
        }
      },
      meaning));
}

}  // namespace plat::cli
