// SPDX-License-Identifier: Apache-2.0
#include "cli/rule_pages.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "cli/output_file.h"
#include "rules/page.h"

namespace plat::cli {

namespace {

namespace fs = std::filesystem;

// By this line a page is known as one that this program wrote.
constexpr const char* kMark = "<!-- Written by plat rules --markdown. -->\n";

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

}  // namespace

bool write_rule_pages(const std::string& directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) {
    fmt::print(stderr, "plat: {}: {}\n", directory, error.message());
    return false;
  }
  std::map<std::string, std::string> pages{{"README.md", kMark + rules::index_page()}};
  for (const rules::Chapter& chapter : rules::chapters())
    pages[std::string(chapter.name) + ".md"] = kMark + rules::page(chapter);
  bool ok = true;
  for (const auto& [name, text] : pages) ok = write(fs::path(directory) / name, text) && ok;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory))
    if (!pages.contains(entry.path().filename().string()) && read(entry.path()).starts_with(kMark))
      fs::remove(entry.path());
  return ok;
}

}  // namespace plat::cli
