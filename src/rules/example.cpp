// SPDX-License-Identifier: Apache-2.0
#include "rules/example.h"

#include <algorithm>

#include "base/text.h"
#include "rules/example_layout.h"
#include "rules/source_scan.h"

namespace plat::rules {

namespace {

// As the tests spell the rules.
constexpr const char* kIds[] = {
#define PLAT_CHAPTER(...)
#define PLAT_RULE(id, ...) #id,
#define PLAT_FINDING(id, ...) #id,
#include "rules/book/all.inc"
#undef PLAT_CHAPTER
#undef PLAT_RULE
#undef PLAT_FINDING
};

struct Found {
  std::string_view settings;
  std::string_view body;
  const SourceText* source = nullptr;
};

// RULE_BROKEN(Id, settings) { body }
Found find_test(std::span<const SourceText> sources, const char* macro, const Rule& rule) {
  const std::string head = std::string("\n") + macro + "(" + kIds[static_cast<size_t>(rule.id)];
  for (const SourceText& source : sources) {
    const std::string_view text = source.text;
    for (size_t at = text.find(head); at != std::string_view::npos; at = text.find(head, at + 1)) {
      const size_t behind = at + head.size();
      if (text[behind] != ')' && text[behind] != ',') continue;
      const size_t end = closing(text, text.find('(', at));
      const size_t open = text.find('{', end);
      const size_t close = closing(text, open);
      if (close == std::string_view::npos) continue;
      return {text.substr(behind, end - behind), text.substr(open + 1, close - open - 1), &source};
    }
  }
  return {};
}

// The settings of a test, with the macros that its file defines for them, such as ON_A3.
std::string spelt_out(const Found& test) {
  constexpr std::string_view kDefine = "#define ";
  std::string text;
  if (test.source == nullptr) return text;
  const std::string_view file = test.source->text;
  for (size_t at = file.find(kDefine); at != std::string_view::npos; at = file.find(kDefine, at + 1)) {
    const std::string_view rest = file.substr(at + kDefine.size());
    const std::string_view name = rest.substr(0, rest.find_first_of(" ("));
    if (find_word(test.settings, name) != std::string_view::npos) text += rest.substr(0, rest.find('}'));
  }
  return text.append(test.settings);
}

// {"PLAT_PRODUCT", "950"} -> PLAT_PRODUCT=950
std::vector<std::string> settings_of(const Found& test) {
  const std::string text = spelt_out(test);
  std::vector<std::string> words;
  for (size_t at = text.find('"'); at != std::string_view::npos; at = text.find('"', at)) {
    const size_t end = text.find('"', at + 1);
    words.emplace_back(text.substr(at + 1, end - at - 1));
    at = end + 1;
  }
  std::vector<std::string> settings;
  for (size_t i = 0; i + 1 < words.size(); i += 2)
    if (words[i] != "PLAT_NODE") settings.push_back(words[i] + "=" + words[i + 1]);  // the test's own machine
  return settings;
}

bool is_public_call(const std::string& name) { return name.starts_with("acl") || name.starts_with("hi_"); }

void add_once(std::vector<std::string>& names, const std::string& name) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

// What an expression calls, through helpers of the test and of its file.
void add_calls(std::vector<std::string>& calls, std::string_view expression, const Found& test) {
  for (const std::string& name : called_names(expression)) {
    if (is_public_call(name)) {
      add_once(calls, name);
      continue;
    }
    auto helper = find_definition(test.body, name);
    if (!helper) helper = find_definition(test.source->text, name);
    if (!helper) continue;
    for (const std::string& inner : called_names(helper->body))
      if (is_public_call(inner)) add_once(calls, inner);
  }
}

constexpr std::string_view kBreaks = "EXPECT_BREAKS";

// A test that leaves the breach to a function of its file is that function.
Found through_helper(Found test) {
  if (test.source == nullptr || test.body.find(kBreaks) != std::string_view::npos) return test;
  for (const std::string& name : called_names(test.body)) {
    const auto helper = find_definition(test.source->text, name);
    if (helper && helper->body.find(kBreaks) != std::string_view::npos) test.body = helper->body;
  }
  return test;
}

std::vector<std::string> breaking_calls(const Found& test) {
  std::vector<std::string> calls;
  for (size_t at = test.body.find(kBreaks); at != std::string_view::npos;
       at = test.body.find(kBreaks, at + 1)) {
    const size_t open = at + kBreaks.size();
    std::string_view expression = test.body.substr(open + 1, closing(test.body, open) - open - 1);
    // A code that was kept comes from the call that it was last set by.
    const size_t set = test.body.rfind(std::string(expression) + " = acl", at);
    if (set != std::string_view::npos) expression = test.body.substr(set, test.body.find(';', set) - set);
    add_calls(calls, expression, test);
  }
  std::sort(calls.begin(), calls.end());
  return calls;
}

bool is_header(const SourceText& source) { return std::string_view(source.name).ends_with(".h"); }

std::string_view folder_of(const SourceText& source) {
  const std::string_view name = source.name;
  return name.substr(0, name.find('/'));
}

// What the helpers that an example uses are for, where a comment stands above them.
void add_words(std::vector<Examples::Word>& words, const std::string& text, const SourceText* own,
               std::span<const SourceText> sources) {
  for (const SourceText& source : sources) {
    const bool is_shared = own != nullptr && is_header(source) && folder_of(source) == folder_of(*own);
    if (&source != own && !is_shared) continue;
    for (const std::string& line : lines_of(source.text)) {
      const std::string name = defined_name(line);
      const std::string used = line.starts_with("struct ") ? name : name + "(";
      if (name.empty() || find_word(text, used) == std::string_view::npos) continue;
      const auto definition = find_definition(source.text, name);
      const bool is_known =
          std::any_of(words.begin(), words.end(), [&](const auto& word) { return word.name == name; });
      if (definition && !definition->comment.empty() && !is_known)
        words.push_back({name, definition->comment});
    }
  }
}

// Programs that tests/inspect/expected.py names for a rule: "program": ["RULE"], in a line, or "RULE":
// "program",
struct Programs {
  std::vector<std::string> break_it_alone, break_it, keep_it;
};
Programs programs_for(std::span<const SourceText> sources, const Rule& rule) {
  const std::string quoted = std::string("\"") + rule.name + "\"";
  Programs programs;
  for (const SourceText& source : sources) {
    if (!std::string_view(source.name).ends_with(".py")) continue;
    for (const std::string& line : lines_of(source.text)) {
      const size_t colon = line.find("\": ");
      if (colon == std::string::npos) continue;
      const std::string key(trim(line.substr(0, colon + 1)));
      const std::string value = line.substr(colon + 3);
      if (value == "[" + quoted + "],") programs.break_it_alone.push_back(key.substr(1, key.size() - 2));
      if (value.starts_with("[") && value.find(quoted) != std::string::npos)
        programs.break_it.push_back(key.substr(1, key.size() - 2));
      if (key == quoted) programs.keep_it.push_back(value.substr(1, value.size() - 3));
    }
  }
  return programs;
}

// all["program"] = [] { body };
Found find_program(std::span<const SourceText> sources, const std::string& name) {
  if (name.empty()) return {};
  const std::string head = "all[\"" + name + "\"] = [] {";
  for (const SourceText& source : sources) {
    const std::string_view text = source.text;
    const size_t at = text.find(head);
    if (at == std::string_view::npos) continue;
    const size_t open = at + head.size() - 1;
    return {"", text.substr(open + 1, closing(text, open) - open - 1), &source};
  }
  return {};
}

Found shortest_program(std::span<const SourceText> sources, const std::vector<std::string>& names) {
  Found shortest;
  for (const std::string& name : names) {
    const Found found = find_program(sources, name);
    if (found.source != nullptr && (shortest.source == nullptr || found.body.size() < shortest.body.size()))
      shortest = found;
  }
  return shortest;
}

}  // namespace

Examples examples(const Rule& rule, std::span<const SourceText> sources) {
  Examples both;
  Found broken, kept;
  if (rule.is_finding()) {
    const Programs programs = programs_for(sources, rule);
    broken = shortest_program(sources, programs.break_it_alone);
    if (broken.source == nullptr) broken = shortest_program(sources, programs.break_it);
    kept = shortest_program(sources, programs.keep_it);
  } else {
    broken = through_helper(find_test(sources, "RULE_BROKEN", rule));
    kept = find_test(sources, "RULE_KEPT", rule);
  }
  both.wrong = {settings_of(broken), lay_out(broken.body, rule.name), breaking_calls(broken)};
  both.right = {settings_of(kept), lay_out(kept.body, ""), {}};
  add_words(both.words, both.wrong.text, broken.source, sources);
  add_words(both.words, both.right.text, kept.source, sources);
  return both;
}

Examples examples(const Rule& rule) { return examples(rule, test_texts()); }

}  // namespace plat::rules
