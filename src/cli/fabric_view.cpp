// SPDX-License-Identifier: Apache-2.0
#include "cli/fabric_view.h"

#include <fmt/format.h>

#include <cerrno>

#include "base/text.h"
#include "fabric/message.h"

namespace plat::cli {

namespace {

using Json = nlohmann::ordered_json;

// The daemon may be of another version: what is missing or of another kind reads as nothing.
uint64_t number_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number_unsigned() ? found->get<uint64_t>() : 0;
}
std::string text_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? visible(found->get<std::string>()) : "";
}
Json list_of(const Json& object, const char* key) {
  Json objects = Json::array();
  const auto found = object.find(key);
  if (found == object.end() || !found->is_array()) return objects;
  for (const Json& one : *found)
    if (one.is_object()) objects.push_back(one);
  return objects;
}

std::string count_of(uint64_t count, const char* word) {
  return fmt::format("{} {}{}", count, word, count == 1 ? "" : "s");
}

std::string own_line(const Json& status) {
  if (status.contains("other_version"))
    return fmt::format("fabric daemon: pid {} is of another version ({}); 'plat fabric stop' ends it\n",
                       number_of(status, "pid"), text_of(status, "other_version"));
  if (status.contains("silent") && !status.contains("pid"))
    return "fabric daemon: it takes no connections; if it is stopped, 'kill -CONT PID' lets it go on\n";
  if (status.contains("silent"))
    return fmt::format(
        "fabric daemon: pid {0} does not answer; if it is stopped, 'kill -CONT {0}' lets it go on\n",
        number_of(status, "pid"));
  return fmt::format("fabric daemon: server {} (node {}) at {}, data at port {}, pid {}\n",
                     number_of(status, "server"), text_of(status, "node"), text_of(status, "address"),
                     number_of(status, "data_port"), number_of(status, "pid"));
}

std::string held_text(const Json& held) {
  return fmt::format("{} in {}", format_bytes(number_of(held, "bytes")),
                     count_of(number_of(held, "imports"), "import"));
}

std::string remote_use_text(const FabricStatus& status, const std::map<uint32_t, FabricRates::Rate>& rates) {
  std::string text;
  for (const Json& server : list_of(status, "servers")) {
    const auto connected = server.find("connected");
    text += fmt::format("server {} ({}, node {}): {}; {} written, {} read", number_of(server, "server"),
                        text_of(server, "address"), text_of(server, "node"),
                        connected != server.end() && *connected == true ? "connected" : "not connected",
                        format_bytes(number_of(server, "written_bytes")),
                        format_bytes(number_of(server, "read_bytes")));
    if (const auto rate = rates.find(static_cast<uint32_t>(number_of(server, "server"))); rate != rates.end())
      text += fmt::format("; now {}/s written, {}/s read",
                          format_bytes(static_cast<uint64_t>(rate->second.written)),
                          format_bytes(static_cast<uint64_t>(rate->second.read)));
    text += "\n";
  }
  for (const Json& process : list_of(status, "processes"))
    text += fmt::format("pid {} ({}) uses memory of other servers: {}\n", number_of(process, "pid"),
                        text_of(process, "name"), held_text(process));
  if (status.contains("left_out")) text += "and more, which did not fit into one message\n";
  return text;
}

}  // namespace

FabricStatus ask_fabric(const std::string& directory, const std::string& node, int timeout_ms) {
  const os::Fd connection =
      os::connect_to(fabric::socket_path(directory, node), static_cast<uint32_t>(timeout_ms));
  if (!connection && errno == EAGAIN) return {{"silent", true}};
  const auto who = connection ? os::peer_of(connection.get()) : std::nullopt;
  if (!who) return nullptr;
  const fabric::Request request;
  fabric::Reply reply;
  std::string text;
  if (fabric::send(connection.get(), request) &&
      fabric::receive(connection.get(), reply, text, timeout_ms) == fabric::Received::Message) {
    Json status = Json::parse(text, nullptr, false);
    if (status.is_object()) return status;
    if (reply.cause == fabric::Cause::Version)
      return {{"pid", static_cast<uint64_t>(who->pid)}, {"other_version", text}};
  }
  return {{"pid", static_cast<uint64_t>(who->pid)}, {"silent", true}};
}

std::string remote_holders_text(const FabricStatus& status, const Json& device, const std::string& indent) {
  std::string text;
  for (const Json& guest : list_of(status, "held_by"))
    for (const Json& held : list_of(guest, "held"))
      if (held.contains("device") && held["device"] == device)
        text += fmt::format("{}for server {} (node {}): {}\n", indent, number_of(guest, "server"),
                            text_of(guest, "node"), held_text(held));
  return text;
}

std::map<uint32_t, FabricRates::Rate> FabricRates::update(const FabricStatus& status, uint64_t now_ns) {
  std::map<uint32_t, Rate> rates;
  std::map<uint32_t, Total> totals;
  const double seconds = static_cast<double>(now_ns - last_ns_) / 1e9;
  for (const Json& server : list_of(status, "servers")) {
    const auto number = static_cast<uint32_t>(number_of(server, "server"));
    const Total now{number_of(server, "written_bytes"), number_of(server, "read_bytes")};
    totals[number] = now;
    // A server that was met again counts from nothing.
    const auto before = last_.find(number);
    if (before == last_.end() || seconds <= 0) continue;
    const auto since = [&](uint64_t later, uint64_t earlier) {
      return static_cast<double>(later >= earlier ? later - earlier : later) / seconds;
    };
    rates[number] = {since(now.written, before->second.written), since(now.read, before->second.read)};
  }
  last_ = std::move(totals);
  last_ns_ = now_ns;
  return rates;
}

std::string fabric_section(const FabricStatus& status, const std::map<uint32_t, FabricRates::Rate>& rates) {
  return status.is_null() ? "" : "\n" + own_line(status) + remote_use_text(status, rates);
}

std::string fabric_text(const FabricStatus& status) {
  std::string text = own_line(status);
  for (const Json& guest : list_of(status, "held_by")) {
    const Json all_held = list_of(guest, "held");
    text += fmt::format("{} server {} (node {}), {}{}\n", all_held.empty() ? "holds nothing:" : "held by",
                        number_of(guest, "server"), text_of(guest, "node"),
                        count_of(number_of(guest, "connections"), "data connection"),
                        all_held.empty() ? "" : ":");
    for (const Json& held : all_held)
      text += fmt::format("  device {}: {}\n", held.value("device", Json()).dump(), held_text(held));
  }
  return text + remote_use_text(status, {});
}

}  // namespace plat::cli
