// SPDX-License-Identifier: Apache-2.0
// Findings for people and for tools. A finding is first made into JSON, with names for its frames; every
// other form is made from that, so that all say the same.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "inspect/check/failed_calls.h"
#include "inspect/check/finding.h"
#include "inspect/check/symbols.h"

namespace plat::inspect {

using Json = nlohmann::ordered_json;

Json to_json(const Finding& finding, Symbols& symbols);
// `call` where the site's own operation does not name it.
Json to_json(const Site& site, Symbols& symbols, const std::string& call = "");
Json to_json(const FailedCall& call, Symbols& symbols);

// As people read it; `frames` is how much of each stack they want to see.
std::string to_text(const Json& finding, size_t frames);
std::string failed_call_text(const Json& call, size_t frames);
// "4711: ./program"
std::string process_of(const Json& finding);

// For CI: all findings of a run in one document. The test is what was checked; the version, ours.
std::string to_junit(const std::vector<Json>& findings, const std::string& test);
std::string to_sarif(const std::vector<Json>& findings, const std::string& version);

// One line of JSON; bytes that are not UTF-8 come out as U+FFFD.
std::string to_line(const Json& json);

}  // namespace plat::inspect
