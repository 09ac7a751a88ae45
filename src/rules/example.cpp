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

std::vector<std::string> quoted_in(const std::string& text) {
  std::vector<std::string> words;
  for (size_t at = text.find('"'); at != std::string::npos; at = text.find('"', at)) {
    const size_t end = std::min(text.find('"', at + 1), text.size());
    words.emplace_back(text.substr(at + 1, end - at - 1));
    at = end + 1;
  }
  return words;
}

// {"PLAT_PRODUCT", "950"} -> PLAT_PRODUCT=950
std::vector<std::string> settings_of(const Found& test) {
  const std::vector<std::string> words = quoted_in(spelt_out(test));
  std::vector<std::string> settings;
  for (size_t i = 0; i + 1 < words.size(); i += 2)
    if (words[i] != "PLAT_NODE") settings.push_back(words[i] + "=" + words[i + 1]);  // the test's own machine
  return settings;
}

bool is_public_call(const std::string& name) {
  for (const char* prefix : {"acl", "hi_", "mstx", "platMstx"})
    if (name.starts_with(prefix)) return true;
  return false;
}

void add_once(std::vector<std::string>& names, const std::string& name) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

// The file of a test, and the headers that it sees, each behind the one that names it.
std::vector<const SourceText*> seen_by(const SourceText* own, std::span<const SourceText> sources) {
  std::vector<const SourceText*> seen;
  if (own != nullptr) seen.push_back(own);
  for (size_t i = 0; i < seen.size(); ++i)
    for (const SourceText& source : sources) {
      const std::string include = std::string("#include \"") + source.name + "\"";
      if (std::string_view(seen[i]->text).find(include) != std::string_view::npos &&
          std::find(seen.begin(), seen.end(), &source) == seen.end())
        seen.push_back(&source);
    }
  return seen;
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

// The same through all helpers, those of the headers too, and the helpers that they use.
struct FarCalls {
  std::span<const SourceText> sources;
  const Found& test;
  std::vector<std::string> calls, followed;

  void add(std::string_view expression) {
    for (const std::string& name : called_names(expression)) {
      if (is_public_call(name)) {
        add_once(calls, name);
        continue;
      }
      if (std::find(followed.begin(), followed.end(), name) != followed.end()) continue;
      followed.push_back(name);
      if (const auto local = find_definition(test.body, name)) add(local->body);
      for (const SourceText* source : seen_by(test.source, sources))
        if (const auto helper = find_definition(source->text, name)) add(helper->body);
    }
  }
};

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

// What a planted program marks as its mistake, of each of these programs.
std::vector<std::string> planted_calls(std::span<const SourceText> sources,
                                       const std::vector<Found>& programs) {
  constexpr std::string_view kPlanted = "PLANTED";
  std::vector<std::string> calls;
  for (const Found& program : programs) {
    FarCalls far{sources, program, {}, {}};
    for (size_t at = find_word(program.body, kPlanted); at != std::string_view::npos;
         at = find_word(program.body, kPlanted, at + 1)) {
      const size_t open = at + kPlanted.size();
      far.add(program.body.substr(open, closing(program.body, open) - open));
    }
    for (const std::string& call : far.calls) add_once(calls, call);
  }
  std::sort(calls.begin(), calls.end());
  return calls;
}

// Whether a text uses a helper by this name: not a member that is called so, nor one of another type.
bool uses(std::string_view text, std::string_view name) {
  for (size_t at = find_word(text, name); at != std::string_view::npos; at = find_word(text, name, at + 1)) {
    const std::string_view before = text.substr(0, at);
    if (!before.ends_with('.') && !before.ends_with("->") && !before.ends_with("::")) return true;
  }
  return false;
}

// Whether a text passes a helper on by its name: what it had declared itself it would have named before.
bool passes_on(std::string_view text, const std::string& name) {
  const size_t at = text.find("(" + name + ")");
  return at != std::string_view::npos && find_word(text, name) == at + 1;
}

// What the helpers that an example uses are for, where a comment stands above them.
void add_words(std::vector<Examples::Word>& words, const std::string& text, const SourceText* own,
               std::span<const SourceText> sources) {
  for (const SourceText* source : seen_by(own, sources)) {
    for (const std::string& line : lines_of(source->text)) {
      const std::string name = defined_name(line);
      if (name.empty()) continue;
      const bool is_function = line.find(name + "(") != std::string::npos;
      if (!uses(text, is_function ? name + "(" : name) && !(is_function && passes_on(text, name))) continue;
      const auto definition = find_definition(source->text, name);
      const bool is_known =
          std::any_of(words.begin(), words.end(), [&](const auto& word) { return word.name == name; });
      if (definition && !definition->comment.empty() && !is_known)
        words.push_back({name, definition->comment});
    }
  }
}

// all["program"] = [] { body };
Found find_program(std::span<const SourceText> sources, std::string_view name) {
  const std::string head = "all[\"" + std::string(name) + "\"] = [] {";
  for (const SourceText& source : sources) {
    const std::string_view text = source.text;
    const size_t at = text.find(head);
    if (at == std::string_view::npos) continue;
    const size_t open = at + head.size() - 1;
    return {"", text.substr(open + 1, closing(text, open) - open - 1), &source};
  }
  return {};
}

// Programs that tests/inspect/expected.py names for a finding, each in a line: those that break it and
// nothing else, "program": ["RULE"], and the two that are shown, "RULE": ("program", "program"),
struct Programs {
  std::vector<Found> break_it;
  Found wrong, right;
};
Programs programs_for(std::span<const SourceText> sources, const Rule& rule) {
  Programs programs;
  for (const SourceText& source : sources) {
    if (!std::string_view(source.name).ends_with(".py")) continue;
    for (const std::string& line : lines_of(source.text)) {
      const std::vector<std::string> quoted = quoted_in(line);
      const size_t colon = line.find("\": ");
      if (colon == std::string::npos) continue;
      const std::string_view value = std::string_view(line).substr(colon + 3);
      if (value.starts_with("[") && quoted.size() > 1 &&
          std::all_of(quoted.begin() + 1, quoted.end(), [&](const auto& name) { return name == rule.name; }))
        programs.break_it.push_back(find_program(sources, quoted[0]));
      if (value.starts_with("(") && quoted.size() == 3 && quoted[0] == rule.name) {
        programs.wrong = find_program(sources, quoted[1]);
        programs.right = find_program(sources, quoted[2]);
      }
    }
  }
  programs.break_it.push_back(programs.wrong);  // also if it breaks others with it
  return programs;
}

Found test_that_keeps(std::span<const SourceText> sources, const Rule& rule) {
  return find_test(sources, "RULE_KEPT", rule);
}

}  // namespace

Examples examples(const Rule& rule, std::span<const SourceText> sources) {
  Examples both;
  Found broken, kept;
  if (rule.is_finding()) {
    const Programs programs = programs_for(sources, rule);
    broken = programs.wrong;
    kept = programs.right;
    both.wrong.calls = planted_calls(sources, programs.break_it);
  } else {
    broken = through_helper(find_test(sources, "RULE_BROKEN", rule));
    kept = test_that_keeps(sources, rule);
    both.wrong.calls = breaking_calls(broken);
  }
  both.wrong.settings = settings_of(broken);
  both.wrong.text = lay_out(broken.body, rule.name);
  both.right.settings = settings_of(kept);
  both.right.text = lay_out(kept.body, "");
  add_words(both.words, both.wrong.text, broken.source, sources);
  add_words(both.words, both.right.text, kept.source, sources);
  return both;
}

Examples examples(const Rule& rule) { return examples(rule, test_texts()); }

std::vector<std::string> calls_in_kept(const Rule& rule, std::string_view expression) {
  const Found kept = test_that_keeps(test_texts(), rule);
  FarCalls far{test_texts(), kept, {}, {}};
  far.add(expression);
  return far.calls;
}

}  // namespace plat::rules
