// SPDX-License-Identifier: Apache-2.0
#include "rules/page.h"

#include <fmt/format.h>

#include "base/text.h"
#include "rules/example.h"

namespace plat::rules {

namespace {

constexpr const char* kIndexText =
    R"(Every rule of the documented contract that the software device checks, and everything that `plat check` finds. An error
message begins with the id of its rule; `plat rules ID` prints what stands here. A rule that can be relaxed shows what it does by
default; choose with `PLAT_RULES=ID=off|warning|error`. Where two codes stand, the second is that of Ascend 950.
The two programs of a rule are taken from its tests, so they do what they say; programs should look at the result of every call, which
these leave out. The calls that raise a rule are those of its tests. Findings are not bound to calls: others that do the same raise them
as well.

These pages are made by `make docs` from the book in `src/rules/book/`.
)";

// As readers of Markdown make it from a heading.
std::string anchor(const Rule& rule) { return to_lower(rule.name); }

std::string strength(const Rule& rule) {
  switch (rule.kind) {
    case Kind::Firm:
      return "Always fails the call.";
    case Kind::Soft:
      return fmt::format("By default: {}. Choose with `PLAT_RULES={}=off|warning|error`.",
                         to_text(rule.severity), rule.name);
    case Kind::Finding:
      break;
  }
  return rule.severity == Severity::Error ? "An error: `plat check` fails."
                                          : "A warning: `plat check` fails with `--strict` only.";
}

std::string text_of(const char* title, const Example& example) {
  if (example.text.empty()) return "";
  const std::string settings =
      example.settings.empty() ? "" : fmt::format(", with `{}`", fmt::join(example.settings, "` and `"));
  return fmt::format("\n**{}**{}:\n\n```cpp\n{}```\n", title, settings, example.text);
}

std::string text_of(const Examples& both) {
  std::string text = text_of("Wrong", both.wrong) + text_of("Right", both.right);
  if (!both.words.empty()) text += "\n";
  for (const auto& [name, meaning] : both.words) text += fmt::format("- `{}`: {}\n", name, meaning);
  return text;
}

}  // namespace

std::string codes(const Rule& rule, const char* separator) {
  if (rule.is_finding()) return "";
  return rule.code_v2 == rule.code_v3 ? fmt::format("{}", rule.code_v2)
                                      : fmt::format("{}{}{}", rule.code_v2, separator, rule.code_v3);
}

std::string page(const Rule& rule, int level) {
  const std::string source = rule.is_finding()
                                 ? "| Found by | `plat check` |"
                                 : fmt::format("| Returns | {}{} |", codes(rule, " (Ascend 950: "),
                                               rule.code_v2 == rule.code_v3 ? "" : ")");
  const Examples shown = examples(rule);
  const std::string calls = shown.wrong.calls.empty()
                                ? ""
                                : fmt::format("\n| Raised by | {} |", fmt::join(shown.wrong.calls, ", "));
  return fmt::format(
      "{} {}\n\n{}\n\n| | |\n|---|---|\n{}{}\n| Strength | {} |\n\n"
      "**How programs come here.** {}\n\n**What to do.** {}\n{}",
      std::string(level, '#'), rule.name, rule.sentence, source, calls, strength(rule), rule.cause, rule.fix,
      text_of(shown));
}

std::string page(const Chapter& chapter) {
  std::string text = fmt::format("# {}\n\n{} [All rules](README.md)\n", chapter.title, chapter.text);
  for (const Rule& rule : all())
    if (rule.chapter == &chapter) text += "\n" + page(rule, 2);
  return text;
}

std::string index_page() {
  std::string text = fmt::format("# The rule book\n\n{}", kIndexText);
  const Chapter* chapter = nullptr;
  for (const Rule& rule : all()) {
    if (rule.chapter != chapter) {
      chapter = rule.chapter;
      text += fmt::format("\n## [{}]({}.md)\n\n{}\n\n| Rule | {} | |\n|---|---|---|\n", chapter->title,
                          chapter->name, chapter->text, rule.is_finding() ? "Severity" : "Code");
    }
    const std::string strength = rule.is_finding() ? to_text(rule.severity)
                                 : rule.kind == Kind::Soft
                                     ? fmt::format("{} ({})", codes(rule, " / "), to_text(rule.severity))
                                     : codes(rule, " / ");
    text += fmt::format("| [{}]({}.md#{}) | {} | {} |\n", rule.name, chapter->name, anchor(rule), strength,
                        rule.sentence);
  }
  return text;
}

}  // namespace plat::rules
