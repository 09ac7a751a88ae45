// SPDX-License-Identifier: Apache-2.0
#include "inspect/check/suppressions.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <sstream>

#include "rules/rules.h"

namespace plat::inspect {

namespace {

std::vector<std::string> frames_of(const Json& finding) {
  std::vector<std::string> frames;
  const auto take = [&](const Json& site) {
    for (const Json& frame : site["stack"]) frames.push_back(frame["text"]);
  };
  if (finding.contains("site")) take(finding["site"]);
  for (const Json& object : finding["objects"])
    for (const char* const when : {"allocated", "used", "freed"})
      if (object.contains(when)) take(object[when]);
  return frames;
}

bool matches(const std::string& pattern, const std::string& text) {
  return fnmatch(pattern.c_str(), text.c_str(), 0) == 0;
}

}  // namespace

size_t Suppressions::add(const std::string& text) {
  std::istringstream stream(text);
  std::string line;
  for (size_t number = 1; std::getline(stream, line); ++number) {
    std::istringstream words(line.substr(0, line.find('#')));
    Line one;
    one.text = line;
    if (!(words >> one.rule)) continue;
    // Any rule may be: the device warns of its own.
    const bool known = std::ranges::any_of(
        rules::all(), [&](const rules::Rule& rule) { return matches(one.rule, rule.name); });
    if (!known) return number;
    for (std::string word; words >> word;) one.patterns.push_back(word);
    lines_.push_back(std::move(one));
  }
  return 0;
}

bool Suppressions::covers(const Json& finding) {
  const std::vector<std::string> frames = frames_of(finding);
  for (Line& line : lines_) {
    if (!matches(line.rule, finding["rule"])) continue;
    const bool all = std::all_of(line.patterns.begin(), line.patterns.end(), [&](const std::string& pattern) {
      return std::any_of(frames.begin(), frames.end(),
                         [&](const std::string& frame) { return matches(pattern, frame); });
    });
    if (!all) continue;
    line.used = true;
    return true;
  }
  return false;
}

std::vector<std::string> Suppressions::unused() const {
  std::vector<std::string> texts;
  for (const Line& line : lines_)
    if (!line.used) texts.push_back(line.text);
  return texts;
}

std::string suppression_for(const Json& finding) {
  std::string line = finding["rule"];
  const auto first = [](const Json& site) -> std::string {
    return site["stack"].empty() ? "" : site["stack"][0]["function"].get<std::string>();
  };
  std::string function = finding.contains("site") ? first(finding["site"]) : "";
  function = function.substr(0, function.find_first_of("( "));
  if (!function.empty()) line += fmt::format("  {}*", function);
  return line;
}

}  // namespace plat::inspect
