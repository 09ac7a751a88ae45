// The same history from a snapshot that was saved as JSON.
#include <nlohmann/json.hpp>

#include "cli/replay_snapshot.h"

namespace plat::replay {

namespace {

using Json = nlohmann::json;

uint64_t number(const Json& entry, const char* key) {
  const auto found = entry.find(key);
  return found != entry.end() && found->is_number_integer() ? found->get<uint64_t>() : 0;
}

}  // namespace

bool read_snapshot_json(const std::string& text, const SnapshotVisitor& visit, std::string& why) {
  const Json root = Json::parse(text, nullptr, false);
  if (root.is_discarded() || !root.is_object()) return why = "is no JSON, or ends early", false;
  const auto traces = root.find("device_traces");
  if (traces == root.end() || !traces->is_array() || traces->empty())
    return why = "the snapshot has no device_traces: record it with the history switched on", false;
  const Json* longest = &traces->front();  // the device that did the work
  for (const Json& each : *traces)
    if (each.size() > longest->size()) longest = &each;
  for (const Json& entry : *longest) {
    if (!entry.is_object() || !entry.contains("addr") || !entry.contains("size")) continue;
    const auto action = entry.find("action");
    const bool allocates = action != entry.end() && *action == "alloc";
    if (allocates || (action != entry.end() && *action == "free_completed"))
      visit(allocates, number(entry, "addr"), number(entry, "size"), number(entry, "stream"));
  }
  return true;
}

}  // namespace plat::replay
