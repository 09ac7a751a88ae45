// SPDX-License-Identifier: Apache-2.0
#include "rules/example_layout.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "rules/source_scan.h"

namespace plat::rules {

namespace {

constexpr std::string_view kBreaksCall = "EXPECT_BREAKS(";

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
                                       : std::string_view(line).substr(std::min(margin, line.size()));
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
    Comparison{"EXPECT_EQ(", "=="}, Comparison{"EXPECT_NE(", "!="},    Comparison{"EXPECT_GE(", ">="},
    Comparison{"EXPECT_GT(", ">"},  Comparison{"EXPECT_LE(", "<="},    Comparison{"EXPECT_LT(", "<"},
    Comparison{"ASSERT_EQ(", "=="}, Comparison{"ASSERT_NE(", "!="},    Comparison{"EXPECT_TRUE(", ""},
    Comparison{"ASSERT_TRUE(", ""}, Comparison{"EXPECT_STREQ(", "=="}, Comparison{"EXPECT_FALSE(", "!"}};

// The two sides of a comparison.
std::string compared(std::string_view inner, std::string_view sign) {
  if (sign.empty()) return joined(inner);
  if (sign == "!") return "!(" + joined(inner) + ")";
  size_t at = 0;
  while (at < inner.size() && inner[at] != ',') {
    const bool opens = inner[at] == '(' || inner[at] == '{' || inner[at] == '[';
    at = (opens ? closing(inner, at) : at) + 1;
  }
  return joined(inner.substr(0, at)) + " " + std::string(sign) + " " +
         joined(at < inner.size() ? inner.substr(at + 1) : "");
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
  const size_t breaks = text.find(kBreaksCall);
  if (breaks != std::string_view::npos) {
    const size_t end = text.find(';', closing(text, breaks + kBreaksCall.size() - 1));
    if (end != std::string_view::npos) {
      const size_t line_end = text.find('\n', end);
      const size_t comment = text.find("//", end);  // its own, which gives way
      if (comment < line_end) text.erase(end + 1, line_end - end - 1);
      text.insert(end + 1, "  // " + std::string(broken_rule));
    }
  }
  replace_macro(text, kBreaksCall, [](std::string_view inner) {
    // A code that was kept: the line that broke the rule stands above.
    return joined(inner).find('(') == std::string_view::npos ? "assert(" + joined(inner) + " != ACL_SUCCESS)"
                                                             : joined(inner);
  });
  replace_macro(text, "EXPECT_OK(", joined);
  replace_macro(text, "MUST(", joined);
  for (const auto& [macro, sign] : kComparisons)
    replace_macro(text, macro,
                  [with = sign](std::string_view inner) { return "assert(" + compared(inner, with) + ")"; });
  return text;
}

std::string defined_name(std::string_view line) {
  if (line.starts_with("struct ") && line.ends_with("{")) {
    const std::string_view rest = line.substr(7);
    return std::string(rest.substr(0, rest.find_first_of(" :{")));
  }
  const bool is_function = !line.empty() && line.front() != ' ' && line.front() != '/' &&
                           line.front() != '#' && line.front() != '}' &&
                           line.find('(') != std::string_view::npos && line.find('=') > line.find('(');
  if (!is_function) return "";
  const size_t open = line.find('(');
  const size_t start = line.find_last_of(" *&", open);
  return start == std::string_view::npos ? "" : std::string(line.substr(start + 1, open - start - 1));
}

}  // namespace plat::rules
