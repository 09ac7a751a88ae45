// SPDX-License-Identifier: Apache-2.0
// The forms that CI systems read.
#include <fmt/format.h>

#include <cctype>
#include <filesystem>
#include <map>
#include <set>

#include "inspect/check/formatter.h"

namespace plat::inspect {

namespace {

std::string xml(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '"') {
      out += "&quot;";
    } else if (static_cast<unsigned char>(c) >= 0x20 || c == '\n' || c == '\t') {
      out += c;
    }
  }
  return out;
}

// The first frame with a line in a source file: where a viewer puts its mark.
const Json* place_in(const Json& site) {
  for (const Json& frame : site["stack"])
    if (frame.contains("line")) return &frame;
  return nullptr;
}
const Json* place_of(const Json& finding) {
  if (finding.contains("site"))
    if (const Json* frame = place_in(finding["site"])) return frame;
  for (const Json& object : finding["objects"])
    if (object.contains("allocated"))
      if (const Json* frame = place_in(object["allocated"])) return frame;
  return nullptr;
}

// What stays the same from run to run, as addresses do not: CI follows a test by its name.
std::string lasting_name(const Json& finding) {
  std::string rule = finding["rule"];
  const Json* const frame = place_of(finding);
  if (frame == nullptr) return rule;
  return fmt::format("{} at {}:{}", rule, (*frame)["file"].get<std::string>(), (*frame)["line"].get<int>());
}

// Relative to where we are, which in CI is the repository, as far as the file lies there.
std::string uri_of(const std::string& file) {
  std::error_code error;
  const std::string here = std::filesystem::current_path(error).string() + "/";
  std::string uri;
  for (const char c : !error && file.starts_with(here) ? file.substr(here.size()) : file) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 ||
                       std::string_view("-._~/+,@=").find(c) != std::string_view::npos;
    uri += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return uri;
}

Json location_of(const Json& frame) {
  return {
      {"physicalLocation",
       {{"artifactLocation", {{"uri", uri_of(frame["file"])}}}, {"region", {{"startLine", frame["line"]}}}}}};
}

// How it came to that: the calls that the finding names, in the order in which they were made.
Json flow_of(const Json& finding) {
  std::map<uint64_t, std::pair<std::string, const Json*>> steps;  // by event
  const auto add = [&](const Json& from, const char* key, const std::string& what) {
    if (from.contains(key)) steps.try_emplace(from[key]["event"].get<uint64_t>(), what, &from[key]);
  };
  // A leak shows where it was allocated, which its object says.
  if (!finding["rule"].get<std::string>().starts_with("INSP-Leak-")) add(finding, "site", "found");
  for (const Json& object : finding["objects"])
    for (const char* const key : {"allocated", "used", "freed"})
      add(object, key, fmt::format("{} {}", object["kind"].get<std::string>(), key));
  Json flow = Json::array();
  for (const auto& [event, step] : steps) {
    const Json* const frame = place_in(*step.second);
    if (frame == nullptr) continue;
    Json location = location_of(*frame);
    location["message"]["text"] =
        fmt::format("{} by {}", step.first, (*step.second)["call"].get<std::string>());
    flow.push_back({{"location", std::move(location)}});
  }
  return flow;
}

}  // namespace

std::string to_junit(const std::vector<Json>& findings, const std::string& test) {
  const std::string name = xml(Json::parse(to_line(test)).get<std::string>());
  size_t failures = 0;
  for (const Json& finding : findings) failures += finding["severity"] == "error" ? 1 : 0;
  std::string text = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"plat check {}\" tests=\"{}\" "
      "failures=\"{}\">\n",
      name, std::max<size_t>(findings.size(), 1), failures);
  if (findings.empty()) text += fmt::format("  <testcase classname=\"{}\" name=\"memory\"/>\n", name);
  std::map<std::string, size_t> seen;  // a name twice would be one test to most readers
  for (const Json& raw : findings) {
    const Json finding = Json::parse(to_line(raw));  // names may hold any bytes, XML may not
    const std::string detail = finding["detail"];
    const bool fails = finding["severity"] == "error";
    const std::string body = xml(to_text(finding, 16));
    std::string place = lasting_name(finding);
    if (const size_t before = seen[place]++; before > 0) place += fmt::format(" ({})", before + 1);
    text += fmt::format("  <testcase classname=\"{}\" name=\"{}\">\n", name, xml(place));
    text += fails ? fmt::format("    <failure message=\"{}\">{}</failure>\n", xml(detail), body)
                  : fmt::format("    <system-out>{}</system-out>\n", body);
    text += "  </testcase>\n";
  }
  return text + "</testsuite>\n";
}

std::string to_sarif(const std::vector<Json>& findings, const std::string& version) {
  Json rules = Json::array();
  std::set<std::string> listed;
  Json results = Json::array();
  for (const Json& finding : findings) {
    if (listed.insert(finding["rule"]).second)
      rules.push_back({{"id", finding["rule"]},
                       {"shortDescription", {{"text", finding["sentence"]}}},
                       {"help", {{"text", finding["hint"]}}},
                       {"defaultConfiguration", {{"level", finding["severity"]}}}});
    Json result{{"ruleId", finding["rule"]},
                {"level", finding["severity"]},
                {"message", {{"text", to_text(finding, 16)}}},
                {"occurrenceCount", finding["count"]},
                {"partialFingerprints", {{"place/v1", lasting_name(finding)}}}};
    if (const Json* frame = place_of(finding)) result["locations"] = Json::array({location_of(*frame)});
    if (Json flow = flow_of(finding); !flow.empty())
      result["codeFlows"] = Json::array({Json{{"threadFlows", Json::array({Json{{"locations", flow}}})}}});
    results.push_back(std::move(result));
  }
  const Json driver{{"name", "plat check"}, {"version", version}, {"rules", rules}};
  const Json document{{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
                      {"version", "2.1.0"},
                      {"runs", Json::array({Json{{"tool", {{"driver", driver}}}, {"results", results}}})}};
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace plat::inspect
