// plat rules: the rule book, for people and for tools.
#include "rules/rules.h"

#include <fmt/format.h>
#include <strings.h>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/cli.h"
#include "cli/rule_pages.h"

namespace plat::cli {

const char* const kRulesExamples =
    "\nEvery error of the software device begins with the id of the rule that was broken, such as\n"
    "VMM-Map-offset-zero, and returns that rule's code.\n"
    "\nExamples:\n"
    "  plat rules                        all of them, one a line\n"
    "  plat rules VMM-Map-offset-zero    one in full: the code, the usual cause, what to do\n"
    "  plat rules VMM-Map                all whose id begins like this\n"
    "  plat rules 507899                 all that return this code\n"
    "  plat rules --json                 for tools";

namespace {

using rules::Rule;

struct Options {
  std::string what;
  bool json = false;
  std::string directory;
};

bool begins_with(const Rule& rule, const std::string& text) {
  return strncasecmp(rule.name, text.c_str(), text.size()) == 0;
}

// By id, by code, by the beginning of the id; else by any part of it, for those who remember half of it.
std::vector<const Rule*> select(const std::string& what) {
  std::vector<const Rule*> chosen;
  if (const Rule* rule = rules::find(what)) return {rule};
  const auto number = parse_number(what);
  for (const Rule& rule : rules::all())
    if (number ? rule.code_v2 == static_cast<int>(*number) || rule.code_v3 == static_cast<int>(*number)
               : begins_with(rule, what))
      chosen.push_back(&rule);
  if (!chosen.empty() || number) return chosen;
  for (const Rule& rule : rules::all())
    if (strcasestr(rule.name, what.c_str()) != nullptr) chosen.push_back(&rule);
  return chosen;
}

nlohmann::ordered_json to_json(const Rule& rule) {
  return {{"id", rule.name},
          {"rule", rule.sentence},
          {"cause", rule.cause},
          {"fix", rule.fix},
          {"severity", rules::to_text(rule.severity)},
          {"can_be_relaxed", rule.kind == rules::Kind::Soft},
          {"code", rule.code_v2},
          {"code_950", rule.code_v3}};
}

void print_line(const Rule& rule) {
  const std::string code = rule.code_v2 == rule.code_v3 ? fmt::format("{}", rule.code_v2)
                                                        : fmt::format("{}/{}", rule.code_v2, rule.code_v3);
  const char* strength = rule.kind == rules::Kind::Firm ? "" : rules::to_text(rule.severity);
  fmt::print("{:<30} {:<14} {:<8} {}\n", rule.name, code, strength, rule.sentence);
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
    for (const Rule* rule : chosen) list.push_back(to_json(*rule));
    fmt::print("{}\n", list.dump(2));
  } else if (chosen.size() == 1) {
    fmt::print("{}", rules::page(*chosen.front()));
  } else {
    for (const Rule* rule : chosen) print_line(*rule);
    fmt::print(
        "\n{} rules. Two codes: the second is that of Ascend 950. A rule with 'error', 'warning' or 'off' "
        "can be\n"
        "relaxed or tightened: plat run --rule ID=off|warning|error.\n",
        chosen.size());
  }
  return kDone;
}

}  // namespace

Action add_rules(CLI::App& app, const Program&) {
  auto options = std::make_shared<Options>();
  app.add_option("rule", options->what, "An id, the beginning of one, or an error code")
      ->type_name("ID|CODE");
  app.add_flag("--json", options->json, "As JSON");
  app.add_option("--markdown", options->directory,
                 "Write a page for each rule, and an index, into a directory")
      ->type_name("DIR");
  return [options] { return show(*options); };
}

}  // namespace plat::cli
