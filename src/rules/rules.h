// SPDX-License-Identifier: Apache-2.0
// rules/: the documented contract as data.
//
// Every rule has a stable name, one sentence, the usual cause, the fix, and the code it returns under each
// driver generation. The code that checks cites a rule, the documentation is made from the table, the tests
// walk it. May include: base/. Never checks anything itself.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace plat {

enum class RuleId : uint16_t {
#define PLAT_RULE(id, ...) id,
#include "rules/book/all.inc"
#undef PLAT_RULE
};

}  // namespace plat

namespace plat::rules {

// What happens when a rule is broken: nothing, a message while the call goes on, or the call fails.
enum class Severity : uint8_t { Off, Warning, Error };

// Whether a user may choose the severity. A Firm rule always fails the call, because the call could not do
// what it says.
enum class Kind : uint8_t { Firm, Soft };

// SVM driver generations: V2 serves A2, A3 and older products, V3 serves Ascend 950.
enum class Generation : uint8_t { V2, V3 };

struct Rule {
  RuleId id;
  const char* name;  // stable: "VMM-Map-offset-zero"
  Kind kind;
  Severity severity;  // unless the user chose another
  int code_v2;
  int code_v3;
  const char* sentence;  // the rule
  const char* cause;     // how programs come to break it
  const char* fix;       // what to do

  int code(Generation generation) const { return generation == Generation::V3 ? code_v3 : code_v2; }
};

std::span<const Rule> all();
const Rule& get(RuleId id);
// By name, in any case; nullptr if there is none.
const Rule* find(std::string_view name);

const char* to_text(Severity severity);

// The rule's documentation page, in Markdown.
std::string page(const Rule& rule);

}  // namespace plat::rules
