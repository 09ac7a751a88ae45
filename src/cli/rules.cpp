// SPDX-License-Identifier: Apache-2.0
// plat rules: the rule book, for people and for tools.
#include <fmt/format.h>
#include <strings.h>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/cli.h"
#include "cli/rule_book.h"
#include "cli/rule_pages.h"

namespace plat::cli {

const char* const kRulesExamples =
    "\nEvery error of the software device begins with the id of the rule that was broken, such as\n"
    "VMM-Map-offset-zero, and returns that rule's code. What plat check finds has ids that begin with "
    "INSP-.\n"
    "\nExamples:\n"
    "  plat rules                        all of them, one a line\n"
    "  plat rules VMM-Map-offset-zero    one in full: the code, the usual cause, what to do\n"
    "  plat rules VMM-Map                all whose id begins like this\n"
    "  plat rules INSP-Leak              what plat check knows about leaks\n"
    "  plat rules 507899                 all that return this code\n"
    "  plat rules --json                 for tools";

namespace {

struct Options {
  std::string what;
  bool json = false;
  std::string directory;
};

bool begins_with(const RuleEntry& rule, const std::string& text) {
  return strncasecmp(rule.name.c_str(), text.c_str(), text.size()) == 0;
}

template <class Test>
std::vector<const RuleEntry*> those(Test&& test) {
  std::vector<const RuleEntry*> chosen;
  for (const RuleEntry& rule : rule_book())
    if (test(rule)) chosen.push_back(&rule);
  return chosen;
}

// By id, by code, by the beginning of the id; else by any part of it, for those who remember half of it.
std::vector<const RuleEntry*> select(const std::string& what) {
  auto chosen =
      those([&](const RuleEntry& rule) { return strcasecmp(rule.name.c_str(), what.c_str()) == 0; });
  if (!chosen.empty()) return chosen;
  if (const auto number = parse_number(what)) {
    const auto code = static_cast<int>(*number);
    return those([&](const RuleEntry& rule) {
      return !rule.is_finding && (rule.code == code || rule.code_950 == code);
    });
  }
  chosen = those([&](const RuleEntry& rule) { return begins_with(rule, what); });
  if (!chosen.empty()) return chosen;
  return those([&](const RuleEntry& rule) { return strcasestr(rule.name.c_str(), what.c_str()) != nullptr; });
}

nlohmann::ordered_json to_json(const RuleEntry& rule) {
  nlohmann::ordered_json json{{"id", rule.name},
                              {"rule", rule.sentence},
                              {"cause", rule.cause},
                              {"fix", rule.fix},
                              {"severity", rule.severity}};
  if (rule.is_finding) {
    json["found_by"] = "plat check";
  } else {
    json["can_be_relaxed"] = rule.can_be_relaxed;
    json["code"] = rule.code;
    json["code_950"] = rule.code_950;
  }
  return json;
}

void print_line(const RuleEntry& rule) {
  const bool says_strength = rule.can_be_relaxed || rule.is_finding;
  fmt::print("{:<30} {:<14} {:<8} {}\n", rule.name, rule.is_finding ? "plat check" : rule.codes("/"),
             says_strength ? rule.severity : "", rule.sentence);
}

int show(const Options& options) {
  if (!options.directory.empty()) return write_rule_pages(options.directory) ? kDone : kBadNews;
  const auto chosen = select(options.what);
  if (chosen.empty()) {
    fmt::print(stderr, "plat: no rule has the id or the code '{}'; 'plat rules' lists them all\n",
               options.what);
    return kBadNews;
  }
  if (options.json) {
    auto list = nlohmann::ordered_json::array();
    for (const RuleEntry* rule : chosen) list.push_back(to_json(*rule));
    fmt::print("{}\n", list.dump(2));
  } else if (chosen.size() == 1) {
    fmt::print("{}", chosen.front()->page);
  } else {
    for (const RuleEntry* rule : chosen) print_line(*rule);
    fmt::print(
        "\n{} rules. Two codes: the second is that of Ascend 950. A rule of the device with 'error', "
        "'warning' or\n"
        "'off' can be relaxed or tightened: plat run --rule ID=off|warning|error.\n",
        chosen.size());
  }
  return kDone;
}

}  // namespace

Action add_rules(Parser& app, const Program&) {
  auto options = std::make_shared<Options>();
  app.add_option("rule", options->what, "An id, the beginning of one, or an error code").type_name("ID|CODE");
  app.add_flag("--json", options->json, "As JSON");
  app.add_option("--markdown", options->directory,
                 "Write a page for each rule, and an index, into a directory")
      .type_name("DIR");
  return [options] { return show(*options); };
}

}  // namespace plat::cli
