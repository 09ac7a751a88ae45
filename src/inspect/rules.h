// The rules that findings cite, as data.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace plat::inspect {

enum class RuleId : uint8_t {
#define PLAT_FINDING(id, ...) id,
#include "inspect/rules.inc"
#undef PLAT_FINDING
};

enum class Severity : uint8_t { Warning, Error };

struct Rule {
  RuleId id;
  const char* name;
  Severity severity;
  const char* sentence;
  const char* cause;
  const char* fix;
};

std::span<const Rule> all_rules();
const Rule& rule_of(RuleId id);
const char* to_text(Severity severity);

// The rule's documentation page, in Markdown.
std::string page(const Rule& rule);

}  // namespace plat::inspect
