// SPDX-License-Identifier: Apache-2.0
// The options of a subcommand. This is the one door to the command-line library, whose headers take longer to
// compile than the rest of the command.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace plat::cli {

// One option, to say more of it.
class Option {
 public:
  explicit Option(CLI::Option* option) : option_(option) {}
  Option& type_name(const std::string& name);  // what --help shows in the place of the value
  Option& required();
  Option& excludes(const char* other);
  Option& one_value_each();  // may be given several times, with one value each
  Option& range(int least, int most);
  Option& range(double least, double most);
  Option& not_negative();
  Option& more_than_zero();
  Option& one_of(const std::vector<std::string>& values);

 private:
  CLI::Option* option_;
};

// What a function that takes a value throws when the value is none. The text follows the name of the option.
struct BadValue : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Parser {
 public:
  explicit Parser(CLI::App& app) : app_(app) {}
  void description(const char* text);

  // "--flag", "-f,--flag", or "--no-flag{false},--flag" for one that is usually set.
  Option add_flag(const char* names, bool& value, const char* meaning);
  // A name without dashes is an argument by position.
  Option add_option(const char* names, std::string& value, const char* meaning);
  Option add_option(const char* names, std::vector<std::string>& values, const char* meaning);
  Option add_option(const char* names, int& value, const char* meaning);
  Option add_option(const char* names, uint32_t& value, const char* meaning);
  Option add_option(const char* names, uint64_t& value, const char* meaning);
  Option add_option(const char* names, double& value, const char* meaning);
  Option add_option(const std::string& names, std::function<void(const std::string&)> take,
                    const std::string& meaning);

 private:
  CLI::App& app_;
};

}  // namespace plat::cli
