// SPDX-License-Identifier: Apache-2.0
#include "rules/example_layout.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "rules/source_scan.h"

namespace plat::rules {

namespace {

constexpr std::string_view kBreaksCall = "EXPECT_BREAKS(";
constexpr std::string_view kPlantedCall = "PLANTED(";

size_t indent_of(std::string_view line) { return std::min(line.find_first_not_of(' '), line.size()); }

// A statement begins where the body begins; what is further in, or closes, belongs to the one before.
bool continues(std::string_view line) { return line.starts_with(' ') || line.starts_with('}'); }

std::string shown_part(std::string_view body, bool breaks) {
  std::vector<std::string> lines = lines_of(body);
  if (!lines.empty() && trim(lines.front()).empty()) lines.erase(lines.begin());
  const size_t margin = lines.size() < 2 ? std::string_view::npos : indent_of(lines.front());
  std::string text;
  bool is_broken = false;
  for (const std::string& line : lines) {
    const std::string_view shown = margin == std::string_view::npos
                                       ? trim(line)
                                       : std::string_view(line).substr(std::min(margin, indent_of(line)));
    if (trim(line).empty()) break;
    if (is_broken && !continues(shown)) break;
    is_broken = is_broken || (breaks && line.find(kBreaksCall) != std::string::npos);
    text += std::string(shown) + "\n";
  }
  return text;
}

// One line of what stood in several, unless it holds statements of its own.
std::string joined(std::string_view text) {
  if (text.find('{') != std::string_view::npos || text.find("//") != std::string_view::npos)
    return std::string(trim(text));
  std::string line;
  for (const std::string& part : lines_of(text)) {
    if (!line.empty() && !line.ends_with('(')) line += ' ';
    line += trim(part);
  }
  return line;
}

struct Comparison {
  std::string_view macro, sign;
};
constexpr std::array kComparisons = {
    Comparison{"EXPECT_EQ(", "=="}, Comparison{"EXPECT_NE(", "!="},  Comparison{"EXPECT_GE(", ">="},
    Comparison{"EXPECT_GT(", ">"},  Comparison{"EXPECT_LE(", "<="},  Comparison{"EXPECT_LT(", "<"},
    Comparison{"ASSERT_EQ(", "=="}, Comparison{"ASSERT_NE(", "!="},  Comparison{"EXPECT_TRUE(", ""},
    Comparison{"ASSERT_TRUE(", ""}, Comparison{"EXPECT_FALSE(", "!"}};

// The arguments of a macro that has two.
std::pair<std::string, std::string> two_sides(std::string_view inner) {
  size_t at = 0;
  while (at < inner.size() && inner[at] != ',') {
    const bool opens = inner[at] == '(' || inner[at] == '{' || inner[at] == '[';
    at = (opens ? closing(inner, at) : at) + 1;
  }
  return {joined(inner.substr(0, at)), joined(at < inner.size() ? inner.substr(at + 1) : "")};
}

std::string compared(std::string_view inner, std::string_view sign) {
  if (sign.empty()) return joined(inner);
  if (sign == "!") return "!(" + joined(inner) + ")";
  const auto [left, right] = two_sides(inner);
  return left + " " + std::string(sign) + " " + right;
}

// Names the rule at the end of the line where the statement ends that breaks it: what stands behind the
// statement in this line would be part of the comment.
void mark(std::string& text, std::string_view macro, std::string_view rule) {
  const size_t breaks = text.find(macro);
  if (breaks == std::string::npos) return;
  const size_t end = closing(text, breaks + macro.size() - 1);
  if (end == std::string::npos) return;
  const size_t line_end = std::min(text.find('\n', end), text.size());
  const size_t comment = std::min(text.find("//", end), line_end);  // its own, which gives way
  const size_t code_end = text.find_last_not_of(' ', comment - 1) + 1;
  text.replace(code_end, line_end - code_end, "  // " + std::string(rule));
}

// Replaces MACRO(inner) by what make(inner) gives, wherever it stands, and drops a message behind it.
template <class Make>
void replace_macro(std::string& text, std::string_view macro, Make&& make) {
  for (size_t at = text.find(macro); at != std::string_view::npos; at = text.find(macro, at)) {
    const size_t open = at + macro.size() - 1;
    const size_t end = closing(text, open);
    if (end == std::string_view::npos) return;
    size_t behind = end + 1;
    const size_t next = text.find_first_not_of(" \n", behind);
    if (next != std::string_view::npos && text.compare(next, 2, "<<") == 0)
      behind = std::min(text.find(';', next), text.size());
    const std::string made = make(std::string_view(text).substr(open + 1, end - open - 1));
    text.replace(at, behind - at, made);
    at += made.size();
  }
}

}  // namespace

std::string lay_out(std::string_view body, std::string_view broken_rule) {
  std::string text = shown_part(body, !broken_rule.empty());
  mark(text, kBreaksCall, broken_rule);
  mark(text, kPlantedCall, broken_rule);
  replace_macro(text, kBreaksCall, [](std::string_view inner) {
    // A code that was kept: the line that broke the rule stands above.
    return joined(inner).find('(') == std::string_view::npos ? "assert(" + joined(inner) + " != ACL_SUCCESS)"
                                                             : joined(inner);
  });
  replace_macro(text, "EXPECT_OK(", joined);
  replace_macro(text, "MUST(", joined);
  replace_macro(text, kPlantedCall, joined);
  replace_macro(text, "EXPECT_STREQ(", [](std::string_view inner) {
    const auto [left, right] = two_sides(inner);
    return "assert(std::strcmp(" + left + ", " + right + ") == 0)";
  });
  for (const auto& [macro, sign] : kComparisons)
    replace_macro(text, macro,
                  [with = sign](std::string_view inner) { return "assert(" + compared(inner, with) + ")"; });
  return text;
}

std::string defined_name(std::string_view line) {
  for (const std::string_view kind : {"struct ", "class "}) {
    if (!line.starts_with(kind) || !line.ends_with("{")) continue;
    const std::string_view name = line.substr(kind.size());
    return std::string(name.substr(0, name.find_first_of(" :{")));
  }
  if (line.starts_with("constexpr ") || line.starts_with("inline constexpr ")) {
    const std::string_view named = line.substr(0, line.find_first_of("=[{("));
    const size_t end = named.find_last_not_of(' ') + 1;
    const size_t start = named.find_last_of(" *&", end == 0 ? 0 : end - 1);
    if (line.size() > named.size() && line[named.size()] != '(')
      return std::string(named.substr(start + 1, end - start - 1));
  }
  if (line.starts_with("using ") && line.find(" = ") != std::string_view::npos)
    return std::string(line.substr(6, line.find(" = ") - 6));
  if (line.empty() || std::string_view(" /#}").find(line.front()) != std::string_view::npos) return "";
  // Of a function its name stands before the first bracket that is not part of a type, as that of
  // std::function<void(int)> is.
  int types = 0;
  for (size_t open = 0; open < line.size() && line[open] != '='; ++open) {
    types += line[open] == '<' ? 1 : line[open] == '>' ? -1 : 0;
    if (line[open] != '(' || types != 0) continue;
    const size_t start = line.find_last_of(" *&", open);
    return start == std::string_view::npos ? "" : std::string(line.substr(start + 1, open - start - 1));
  }
  return "";
}

}  // namespace plat::rules
