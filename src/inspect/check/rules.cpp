#include "inspect/rules.h"

#include <fmt/format.h>

#include <array>

namespace plat::inspect {

namespace {

using enum Severity;

constexpr std::array kRules = {
#define PLAT_FINDING(id, ...) Rule{RuleId::id, __VA_ARGS__},
#include "inspect/rules.inc"
#undef PLAT_FINDING
};

}  // namespace

std::span<const Rule> all_rules() { return kRules; }

const Rule& rule_of(RuleId id) { return kRules[static_cast<size_t>(id)]; }

const char* to_text(Severity severity) { return severity == Error ? "error" : "warning"; }

std::string page(const Rule& rule) {
  return fmt::format(
      "# {}\n\n{}\n\n| | |\n|---|---|\n| Found by | `plat check` |\n| Severity | {} |\n\n"
      "**How programs come here.** {}\n\n**What to do.** {}\n",
      rule.name, rule.sentence, to_text(rule.severity), rule.cause, rule.fix);
}

}  // namespace plat::inspect
