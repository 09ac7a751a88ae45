// SPDX-License-Identifier: Apache-2.0
#include "cli/managed_view.h"

#include <fmt/format.h>

#include <vector>

#include "base/text.h"
#include "device/managed_notes.h"

namespace plat::cli {

namespace {

using device::ManagedNote;
using device::NotedPlace;

constexpr int32_t kOnDevice = 1;
constexpr int32_t kOnNumaNode = 3;
constexpr uint32_t kDevicesMax = 64;

// Empty: nowhere.
std::string name_of(const NotedPlace& place) {
  if (place.type == 0) return "";
  if (place.type == NotedPlace::kMixed) return "several places";
  if (place.type == kOnDevice) return fmt::format("device {}", place.id);
  if (place.type == kOnNumaNode) return fmt::format("NUMA node {}", place.id);
  return "the host";
}

std::vector<std::string> users_of(const ManagedNote& note) {
  std::vector<std::string> users;
  for (uint32_t id = 0; id < kDevicesMax; ++id)
    if ((note.used_by_devices >> id & 1) != 0) users.push_back(fmt::format("device {}", id));
  if (note.used_by_host != 0) users.emplace_back("the host");
  return users;
}

}  // namespace

std::string managed_text(int32_t pid) {
  std::string text;
  for (const ManagedNote& note : device::ManagedNotes::of(pid)) {
    text += fmt::format("             managed: {} at {:#x}", format_bytes(note.size_bytes), note.start);
    if (note.read_mostly_bytes != 0)
      text += fmt::format(", {} read mostly", format_bytes(note.read_mostly_bytes));
    if (const std::string place = name_of(note.preferred); !place.empty())
      text += fmt::format(", preferred on {}", place);
    if (const auto users = users_of(note); !users.empty())
      text += fmt::format(", used by {}", fmt::join(users, " and "));
    if (const std::string place = name_of(note.prefetched); !place.empty())
      text += fmt::format(", last prefetched to {}", place);
    text += "\n";
  }
  return text;
}

nlohmann::ordered_json managed_json(int32_t pid) {
  nlohmann::ordered_json list;
  for (const ManagedNote& note : device::ManagedNotes::of(pid)) {
    nlohmann::ordered_json block{{"address", fmt::format("{:#x}", note.start)},
                                 {"bytes", note.size_bytes},
                                 {"read_mostly_bytes", note.read_mostly_bytes}};
    if (const std::string place = name_of(note.preferred); !place.empty()) block["preferred"] = place;
    if (const auto users = users_of(note); !users.empty()) block["accessed_by"] = users;
    if (const std::string place = name_of(note.prefetched); !place.empty()) block["prefetched"] = place;
    list.push_back(std::move(block));
  }
  return list;
}

}  // namespace plat::cli
