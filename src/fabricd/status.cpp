// SPDX-License-Identifier: Apache-2.0
#include "fabricd/status.h"

#include <unistd.h>

#include <nlohmann/json.hpp>

namespace plat::fabricd {

namespace {

using Json = nlohmann::ordered_json;

Json to_json(const Guests::Seen& guest) {
  Json held = Json::array();
  for (const auto& [bank, count] : guest.held) {
    const Json name = bank == device::kHostBank ? Json("host") : Json(bank.value);
    held.push_back({{"device", name}, {"imports", count.imports}, {"bytes", count.bytes}});
  }
  return {{"server", guest.server}, {"node", guest.node}, {"connections", guest.connections}, {"held", held}};
}

Json to_json(const Peer::Seen& peer) {
  return {
      {"server", peer.server},        {"address", peer.address},       {"node", peer.node},
      {"connected", peer.connected},  {"heard_s", peer.heard_seconds}, {"written_bytes", peer.written_bytes},
      {"read_bytes", peer.read_bytes}};
}

Json to_json(const Session::Seen& process) {
  return {
      {"pid", process.pid}, {"name", process.name}, {"imports", process.imports}, {"bytes", process.bytes}};
}

template <class Seen>
Json to_list(const std::vector<Seen>& all) {
  Json list = Json::array();
  for (const Seen& one : all) list.push_back(to_json(one));
  return list;
}

}  // namespace

std::string status_text(const Listening& own, const std::vector<Guests::Seen>& guests,
                        const std::vector<Peer::Seen>& peers, const std::vector<Session::Seen>& processes) {
  Json status{{"server", own.self.server}, {"node", own.self.node},
              {"address", own.address},    {"data_port", own.data_port},
              {"pid", getpid()},           {"held_by", to_list(guests)},
              {"servers", to_list(peers)}, {"processes", to_list(processes)}};
  // Names may hold anything.
  const auto written = [&] { return status.dump(-1, ' ', false, Json::error_handler_t::replace); };
  std::string text = written();
  for (const char* list : {"processes", "held_by", "servers"})
    while (text.size() > fabric::kLongestText && !status[list].empty()) {
      Json& some = status[list];
      some.erase(some.begin() + static_cast<std::ptrdiff_t>(some.size() / 2), some.end());
      status["left_out"] = true;
      text = written();
    }
  return text;
}

}  // namespace plat::fabricd
