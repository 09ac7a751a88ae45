// SPDX-License-Identifier: Apache-2.0
#include "cli/rule_pages.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "cli/output_file.h"
#include "cli/rule_book.h"

namespace plat::cli {

namespace {

namespace fs = std::filesystem;

std::string index_page() {
  std::string text =
      "# The rule book\n\n"
      "Every rule of the documented contract that the software device checks. An error message begins with "
      "the id of its\n"
      "rule; `plat rules ID` prints the page. A rule that can be relaxed shows what it does by default; "
      "choose with\n"
      "`PLAT_RULES=ID=off|warning|error`. Where two codes stand, the second is that of Ascend 950.\n\n"
      "These pages are made from the book in `src/rules/book/` and `src/inspect/rules.inc` by `make "
      "docs`.\n\n"
      "| Rule | Code | Default | |\n|---|---|---|---|\n";
  std::string findings =
      "\n## What `plat check` finds\n\n"
      "See [how to inspect a program](../howto/inspect.md).\n\n| Rule | Severity | |\n|---|---|---|\n";
  for (const RuleEntry& rule : rule_book()) {
    if (rule.is_finding) {
      findings += fmt::format("| [{0}]({0}.md) | {1} | {2} |\n", rule.name, rule.severity, rule.sentence);
    } else {
      text += fmt::format("| [{0}]({0}.md) | {1} | {2} | {3} |\n", rule.name, rule.codes(" / "),
                          rule.can_be_relaxed ? rule.severity : "always an error", rule.sentence);
    }
  }
  return text + findings;
}

std::string read(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// Leaves a page that says the same alone, so that it does not look changed.
bool write(const fs::path& path, const std::string& text) {
  if (fs::exists(path) && read(path) == text) return true;
  return write_file(path.string(), text);
}

// A page that this program wrote has its own name as its title.
bool is_rule_page(const fs::path& path) {
  return path.extension() == ".md" && read(path).starts_with("# " + path.stem().string() + "\n");
}

}  // namespace

bool write_rule_pages(const std::string& directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) {
    fmt::print(stderr, "plat: {}: {}\n", directory, error.message());
    return false;
  }
  std::map<std::string, std::string> pages{{"README.md", index_page()}};
  for (const RuleEntry& rule : rule_book()) pages[rule.name + ".md"] = rule.page;
  bool ok = true;
  for (const auto& [name, text] : pages) ok = write(fs::path(directory) / name, text) && ok;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory))
    if (!pages.contains(entry.path().filename().string()) && is_rule_page(entry.path()))
      fs::remove(entry.path());
  return ok;
}

}  // namespace plat::cli
