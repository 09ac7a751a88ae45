// SPDX-License-Identifier: Apache-2.0
// speedscope's own format: frames once, then profiles of samples, which are stacks with a weight.
#include <nlohmann/json.hpp>

#include "inspect/export/export.h"

namespace plat::inspect {

namespace {

struct Profile {
  const char* name;
  Which which;
  Weight weight;
};

constexpr Profile kProfiles[] = {
    {"live at the peak, bytes", Which::AtPeak, Weight::Bytes},
    {"live at the peak, blocks", Which::AtPeak, Weight::Count},
    {"allocated, bytes", Which::Allocated, Weight::Bytes},
    {"allocated, blocks", Which::Allocated, Weight::Count},
    {"left at the end, bytes", Which::AtEnd, Weight::Bytes},
    {"left at the end, blocks", Which::AtEnd, Weight::Count},
};

}  // namespace

std::string to_speedscope(const History& history, NamedStacks& stacks) {
  nlohmann::ordered_json profiles = nlohmann::ordered_json::array();
  for (const Profile& profile : kProfiles) {
    nlohmann::ordered_json samples = nlohmann::ordered_json::array();
    nlohmann::ordered_json weights = nlohmann::ordered_json::array();
    uint64_t sum = 0;
    for (const auto& [frames, value] : weigh(history, stacks, profile.which, profile.weight)) {
      samples.push_back(std::vector<uint32_t>(frames.rbegin(), frames.rend()));
      weights.push_back(value);
      sum += value;
    }
    profiles.push_back({{"type", "sampled"},
                        {"name", profile.name},
                        {"unit", profile.weight == Weight::Bytes ? "bytes" : "none"},
                        {"startValue", 0},
                        {"endValue", sum},
                        {"samples", std::move(samples)},
                        {"weights", std::move(weights)}});
  }
  nlohmann::ordered_json frames = nlohmann::ordered_json::array();
  for (const NamedFrame& frame : stacks.frames()) {
    nlohmann::ordered_json one{{"name", frame.name}};
    if (!frame.file.empty()) one["file"] = frame.file;
    if (frame.line > 0) one["line"] = frame.line;
    frames.push_back(std::move(one));
  }
  const nlohmann::ordered_json file{{"$schema", "https://www.speedscope.app/file-format-schema.json"},
                                    {"exporter", "plat export"},
                                    {"name", history.info.program},
                                    {"activeProfileIndex", 0},
                                    {"shared", {{"frames", std::move(frames)}}},
                                    {"profiles", std::move(profiles)}};
  // Names of files and functions may be any bytes.
  return file.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace plat::inspect
