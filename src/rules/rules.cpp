// SPDX-License-Identifier: Apache-2.0
#include "rules/rules.h"

#include <fmt/format.h>
#include <strings.h>

#include <array>

namespace plat::rules {

namespace {

using enum Kind;
using enum Severity;

constexpr std::array kBook = {
#define PLAT_RULE(id, ...) Rule{RuleId::id, __VA_ARGS__},
#include "rules/book/all.inc"
#undef PLAT_RULE
};

}  // namespace

std::span<const Rule> all() { return kBook; }

const Rule& get(RuleId id) { return kBook[static_cast<size_t>(id)]; }

const Rule* find(std::string_view name) {
  for (const Rule& rule : kBook)
    if (name.size() == std::string_view(rule.name).size() &&
        strncasecmp(rule.name, name.data(), name.size()) == 0)
      return &rule;
  return nullptr;
}

const char* to_text(Severity severity) {
  return severity == Off ? "off" : severity == Warning ? "warning" : "error";
}

std::string page(const Rule& rule) {
  std::string codes = rule.code_v2 == rule.code_v3
                          ? fmt::format("{}", rule.code_v2)
                          : fmt::format("{} (Ascend 950: {})", rule.code_v2, rule.code_v3);
  std::string strength = rule.kind == Firm
                             ? "Always fails the call."
                             : fmt::format("By default: {}. Choose with `PLAT_RULES={}=off|warning|error`.",
                                           to_text(rule.severity), rule.name);
  return fmt::format(
      "# {}\n\n{}\n\n| | |\n|---|---|\n| Returns | {} |\n| Strength | {} |\n\n"
      "**How programs come here.** {}\n\n**What to do.** {}\n",
      rule.name, rule.sentence, codes, strength, rule.cause, rule.fix);
}

}  // namespace plat::rules
