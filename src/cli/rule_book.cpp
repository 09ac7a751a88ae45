#include "cli/rule_book.h"

#include <fmt/format.h>

#include "inspect/rules.h"
#include "rules/rules.h"

namespace plat::cli {

namespace {

// What a rule of the device and one of the inspector have in common; each finds its own to_text and page.
template <class Rule>
RuleEntry words_of(const Rule& rule) {
  RuleEntry entry;
  entry.name = rule.name;
  entry.sentence = rule.sentence;
  entry.cause = rule.cause;
  entry.fix = rule.fix;
  entry.severity = to_text(rule.severity);
  entry.page = page(rule);
  return entry;
}

RuleEntry entry_of(const rules::Rule& rule) {
  RuleEntry entry = words_of(rule);
  entry.can_be_relaxed = rule.kind == rules::Kind::Soft;
  entry.code = rule.code_v2;
  entry.code_950 = rule.code_v3;
  return entry;
}

RuleEntry entry_of(const inspect::Rule& rule) {
  RuleEntry entry = words_of(rule);
  entry.is_finding = true;
  return entry;
}

}  // namespace

std::string RuleEntry::codes(const char* separator) const {
  if (is_finding) return "";
  return code == code_950 ? fmt::format("{}", code) : fmt::format("{}{}{}", code, separator, code_950);
}

const std::vector<RuleEntry>& rule_book() {
  static const std::vector<RuleEntry> book = [] {
    std::vector<RuleEntry> all;
    for (const rules::Rule& rule : rules::all()) all.push_back(entry_of(rule));
    for (const inspect::Rule& rule : inspect::all_rules()) all.push_back(entry_of(rule));
    return all;
  }();
  return book;
}

}  // namespace plat::cli
