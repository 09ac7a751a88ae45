// SPDX-License-Identifier: Apache-2.0
#include "rules/source_scan.h"

#include <algorithm>

#include "base/text.h"

namespace plat::rules {

namespace {

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// Behind the text, character or comment that begins here; the same place if none does.
size_t skip_quoted(std::string_view text, size_t at) {
  if (text.substr(at).starts_with("//")) return std::min(text.find('\n', at), text.size());
  const char quote = text[at];
  const bool separates_digits = quote == '\'' && at > 0 && is_letter(text[at - 1]);
  if ((quote != '"' && quote != '\'') || separates_digits) return at;
  size_t end = at + 1;
  while (end < text.size() && text[end] != quote) end += text[end] == '\\' ? 2 : 1;
  return std::min(end + 1, text.size());
}

size_t line_start(std::string_view text, size_t at) {
  const size_t newline = at == 0 ? std::string_view::npos : text.rfind('\n', at - 1);
  return newline == std::string_view::npos ? 0 : newline + 1;
}

std::string comment_above(std::string_view text, size_t start) {
  std::string comment;
  while (start > 0) {
    const size_t above = line_start(text, start - 1);
    const std::string_view line = text.substr(above, start - 1 - above);
    if (!line.starts_with("// ")) break;
    comment = std::string(line.substr(3)) + (comment.empty() ? "" : " ") + comment;
    start = above;
  }
  return comment;
}

}  // namespace

size_t closing(std::string_view text, size_t open) {
  int depth = 0;
  for (size_t at = open; at < text.size();) {
    const size_t behind = skip_quoted(text, at);
    if (behind != at) {
      at = behind;
      continue;
    }
    const char c = text[at];
    if (c == '(' || c == '{' || c == '[') ++depth;
    if ((c == ')' || c == '}' || c == ']') && --depth == 0) return at;
    ++at;
  }
  return std::string_view::npos;
}

std::vector<std::string> called_names(std::string_view text) {
  std::vector<std::string> names;
  for (size_t at = 0; at < text.size();) {
    const size_t behind = skip_quoted(text, at);
    if (behind != at || !is_letter(text[at])) {
      at = std::max(behind, at + 1);
      continue;
    }
    size_t end = at;
    while (end < text.size() && is_letter(text[end])) ++end;
    const std::string name(text.substr(at, end - at));
    if (end < text.size() && text[end] == '(' && std::find(names.begin(), names.end(), name) == names.end())
      names.push_back(name);
    at = end;
  }
  return names;
}

size_t find_word(std::string_view text, std::string_view name, size_t from) {
  for (size_t at = text.find(name, from); at != std::string_view::npos; at = text.find(name, at + 1)) {
    const size_t end = at + name.size();
    const bool ends = end == text.size() || !is_letter(text[end]) || !is_letter(name.back());
    if ((at == 0 || !is_letter(text[at - 1])) && ends) return at;
  }
  return std::string_view::npos;
}

std::optional<Definition> find_definition(std::string_view text, std::string_view name) {
  std::optional<Definition> declared;
  for (size_t at = find_word(text, name); at != std::string_view::npos; at = find_word(text, name, at + 1)) {
    const std::string_view after = text.substr(at + name.size());
    const size_t start = line_start(text, at);
    const bool at_margin = text[start] != ' ' && text[start] != '/' && text[start] != '#';
    const bool is_member = text.substr(start, 2) == "  " && text[start + 2] != ' ';
    size_t open = std::string_view::npos;
    const std::string_view line = text.substr(start);
    const bool is_type = at_margin && (line.starts_with("struct ") || line.starts_with("class ")) &&
                         at == start + line.find(' ') + 1;
    const bool is_constant = at_margin &&
                             (line.starts_with("constexpr ") || line.starts_with("inline constexpr ")) &&
                             (after.starts_with(" = ") || after.starts_with("[") || after.starts_with("{"));
    const bool is_alias = at_margin && line.starts_with("using ") && after.starts_with(" = ");
    if (is_constant || is_alias)
      return Definition{comment_above(text, start), text.substr(at, text.find(';', at) - at)};
    if (after.starts_with(" = [") || is_type) {
      open = text.find('{', at);
    } else if ((at_margin || is_member) && after.starts_with("(")) {
      const size_t end = closing(text, at + name.size());
      for (const std::string_view start_of_body : {" {", " const {"})
        if (end != std::string_view::npos && text.substr(end + 1).starts_with(start_of_body))
          open = end + start_of_body.size();
      if (end != std::string_view::npos && at_margin && text.substr(end + 1).starts_with(";") && !declared)
        declared = Definition{comment_above(text, start), ""};
    }
    if (open == std::string_view::npos) continue;
    const size_t end = closing(text, open);
    if (end != std::string_view::npos)
      return Definition{comment_above(text, start), text.substr(open + 1, end - open - 1)};
  }
  return declared;
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

}  // namespace plat::rules
