// SPDX-License-Identifier: Apache-2.0
// rules/: the documented contract as data, one book for the device and the inspector.
//
// Every rule has a stable name, one sentence, the usual cause and the fix. A rule of the device has the code
// that it returns under each driver generation; a finding has none, plat check tells it. The code that checks
// cites a rule, the documentation is made from the book, the tests walk it. May include: base/. Never checks
// anything itself.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/result.h"

namespace plat {

enum class RuleId : uint16_t {
#define PLAT_CHAPTER(...)
#define PLAT_RULE(id, ...) id,
#define PLAT_FINDING(id, ...) id,
#include "rules/book/all.inc"
#undef PLAT_CHAPTER
#undef PLAT_RULE
#undef PLAT_FINDING
};

}  // namespace plat

namespace plat::rules {

// What happens when a rule is broken: nothing, a message while the call goes on, or the call fails. Of a
// finding: whether it lets plat check fail.
enum class Severity : uint8_t { Off, Warning, Error };

// A Firm rule always fails the call, because the call could not do what it says. Of a Soft one the user may
// choose the severity. A Finding fails no call: the inspector tells it afterwards.
enum class Kind : uint8_t { Firm, Soft, Finding };

// SVM driver generations: V2 serves A2, A3 and older products, V3 serves Ascend 950.
enum class Generation : uint8_t { V2, V3 };

struct Chapter {
  const char* name;   // of its page: "vmm"
  const char* title;  // "Virtual memory"
  const char* text;   // what it is about, in a sentence
};

struct Rule {
  RuleId id;
  const Chapter* chapter;
  const char* name;  // stable: "VMM-Map-offset-zero"
  Kind kind;
  Severity severity;  // unless the user chose another
  int code_v2;        // none for a finding
  int code_v3;
  const char* sentence;  // the rule
  const char* cause;     // how programs come to break it
  const char* fix;       // what to do

  int code(Generation generation) const { return generation == Generation::V3 ? code_v3 : code_v2; }
  bool is_finding() const { return kind == Kind::Finding; }
};

// In the order of the book, chapter by chapter.
std::span<const Rule> all();
std::span<const Chapter> chapters();
const Rule& get(RuleId id);
// By name, in any case; nullptr if there is none.
const Rule* find(std::string_view name);

const char* to_text(Severity severity);

}  // namespace plat::rules
