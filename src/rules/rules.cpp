// SPDX-License-Identifier: Apache-2.0
#include "rules/rules.h"

#include <strings.h>

#include <array>

namespace plat::rules {

namespace {

#define PLAT_RULE(...)
#define PLAT_FINDING(...)
enum class ChapterId : uint8_t {
#define PLAT_CHAPTER(id, ...) id,
#include "rules/book/all.inc"
#undef PLAT_CHAPTER
};
constexpr std::array kChapters = {
#define PLAT_CHAPTER(id, ...) Chapter{__VA_ARGS__},
#include "rules/book/all.inc"
#undef PLAT_CHAPTER
};
#undef PLAT_RULE
#undef PLAT_FINDING

constexpr size_t kRules = 0
#define PLAT_CHAPTER(...)
#define PLAT_RULE(...) +1
#define PLAT_FINDING(...) +1
#include "rules/book/all.inc"
#undef PLAT_CHAPTER
#undef PLAT_RULE
#undef PLAT_FINDING
    ;

// A rule belongs to the chapter that was opened last.
consteval std::array<Rule, kRules> bind() {
  using enum Kind;
  using enum Severity;
  std::array<Rule, kRules> book{};
  const Chapter* chapter = nullptr;
  size_t next = 0;
#define PLAT_CHAPTER(id, ...) chapter = &kChapters[static_cast<size_t>(ChapterId::id)];
#define PLAT_RULE(id, name, ...) book[next++] = Rule{RuleId::id, chapter, name, __VA_ARGS__};
#define PLAT_FINDING(id, name, severity, ...) \
  book[next++] = Rule{RuleId::id, chapter, name, Finding, severity, 0, 0, __VA_ARGS__};
#include "rules/book/all.inc"
#undef PLAT_CHAPTER
#undef PLAT_RULE
#undef PLAT_FINDING
  return book;
}

constexpr std::array<Rule, kRules> kBook = bind();

}  // namespace

std::span<const Rule> all() { return kBook; }

std::span<const Chapter> chapters() { return kChapters; }

const Rule& get(RuleId id) { return kBook[static_cast<size_t>(id)]; }

const Rule* find(std::string_view name) {
  for (const Rule& rule : kBook)
    if (name.size() == std::string_view(rule.name).size() &&
        strncasecmp(rule.name, name.data(), name.size()) == 0)
      return &rule;
  return nullptr;
}

const char* to_text(Severity severity) {
  return severity == Severity::Off ? "off" : severity == Severity::Warning ? "warning" : "error";
}

}  // namespace plat::rules
