// SPDX-License-Identifier: Apache-2.0
// plat rules: the rule book, for people and for tools.
#include <fmt/format.h>
#include <strings.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/text.h"
#include "cli/cli.h"
#include "cli/rule_pages.h"
#include "rules/page.h"

namespace plat::cli {

using rules::Rule;

const char* const kRulesExamples = R"(
Every error of the software device begins with the id of the rule that was broken, such as
VMM-Map-offset-zero, and returns that rule's code. What plat check finds has ids that begin with INSP-.

Examples:
  plat rules                        all of them, one a line
  plat rules VMM-Map-offset-zero    one in full: the code, the usual cause, what to do
  plat rules VMM-Map                all whose id begins like this
  plat rules INSP-Leak              what plat check knows about leaks
  plat rules 507899                 all that return this code
  plat rules --json                 for tools)";

namespace {

struct RulesOptions {
  std::string what;
  bool json = false;
  std::string directory;
};

template <class Test>
std::vector<const Rule*> rules_that(Test&& test) {
  std::vector<const Rule*> chosen;
  for (const Rule& rule : rules::all())
    if (test(rule)) chosen.push_back(&rule);
  return chosen;
}

// By id, by code, by the beginning of the id; else by any part of it, for those who remember half of it.
std::vector<const Rule*> select(const std::string& what) {
  if (const Rule* rule = rules::find(what)) return {rule};
  if (const auto number = parse_number(what)) {
    const auto code = static_cast<int>(*number);
    return rules_that([&](const Rule& rule) {
      return !rule.is_finding() && (rule.code_v2 == code || rule.code_v3 == code);
    });
  }
  auto chosen =
      rules_that([&](const Rule& rule) { return strncasecmp(rule.name, what.c_str(), what.size()) == 0; });
  if (!chosen.empty()) return chosen;
  return rules_that([&](const Rule& rule) { return strcasestr(rule.name, what.c_str()) != nullptr; });
}

// The rules whose ids are fewest letters away; none if what was typed is like no id.
std::vector<std::string> nearest(const std::string& what) {
  constexpr size_t kShown = 3;
  std::vector<std::pair<size_t, std::string>> near;
  for (const Rule& rule : rules::all()) {
    const size_t steps = edit_distance(to_lower(what), to_lower(rule.name));
    if (steps * 3 <= what.size()) near.emplace_back(steps, rule.name);
  }
  std::sort(near.begin(), near.end());
  std::vector<std::string> names;
  for (size_t i = 0; i < std::min(near.size(), kShown); ++i) names.push_back(near[i].second);
  return names;
}

int say_unknown(const std::string& what) {
  const auto names = nearest(what);
  fmt::print(stderr, "plat: no rule has the id or the code '{}'{}; 'plat rules' lists them all\n", what,
             names.empty() ? "" : fmt::format("; did you mean {}?", fmt::join(names, " or ")));
  return kBadNews;
}

nlohmann::ordered_json to_json(const Rule& rule) {
  nlohmann::ordered_json json{{"id", rule.name},       {"chapter", rule.chapter->name},
                              {"rule", rule.sentence}, {"cause", rule.cause},
                              {"fix", rule.fix},       {"severity", rules::to_text(rule.severity)}};
  if (rule.is_finding()) {
    json["found_by"] = "plat check";
  } else {
    json["can_be_relaxed"] = rule.kind == rules::Kind::Soft;
    json["code"] = rule.code_v2;
    json["code_950"] = rule.code_v3;
  }
  return json;
}

void print_list(const std::vector<const Rule*>& chosen) {
  const rules::Chapter* chapter = nullptr;
  for (const Rule* rule : chosen) {
    if (rule->chapter != chapter) fmt::print("{}{}\n", chapter == nullptr ? "" : "\n", rule->chapter->title);
    chapter = rule->chapter;
    const bool says_strength = rule->kind != rules::Kind::Firm;
    fmt::print("{:<30} {:<14} {:<8} {}\n", rule->name,
               rule->is_finding() ? "plat check" : rules::codes(*rule, "/"),
               says_strength ? rules::to_text(rule->severity) : "", rule->sentence);
  }
  fmt::print(R"(
{} rules. Two codes: the second is that of Ascend 950. A rule of the device with 'error', 'warning' or 'off'
can be relaxed or tightened: plat run --rule ID=off|warning|error.
)",
             chosen.size());
}

int run_rules(const RulesOptions& options) {
  if (!options.directory.empty()) return write_rule_pages(options.directory) ? kDone : kBadNews;
  const auto chosen = select(options.what);
  if (chosen.empty()) return say_unknown(options.what);
  if (options.json) {
    auto list = nlohmann::ordered_json::array();
    for (const Rule* rule : chosen) list.push_back(to_json(*rule));
    fmt::print("{}\n", list.dump(2));
  } else if (chosen.size() == 1) {
    fmt::print("{}", rules::page(*chosen.front()));
  } else {
    print_list(chosen);
  }
  return kDone;
}

}  // namespace

Action add_rules(Parser& app, const Program&) {
  auto options = std::make_shared<RulesOptions>();
  app.add_option("rule", options->what, "An id, the beginning of one, or an error code").type_name("ID|CODE");
  app.add_flag("--json", options->json, "As JSON");
  app.add_option("--markdown", options->directory,
                 "Write a page for each chapter, and an index, into a directory")
      .type_name("DIR");
  return [options] { return run_rules(*options); };
}

}  // namespace plat::cli
