// SPDX-License-Identifier: Apache-2.0
// plat fabric: the daemon that lets programs of this server use memory of others.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "base/text.h"
#include "cli/cli.h"
#include "cli/fabric_view.h"
#include "cli/settings.h"
#include "fabric/message.h"
#include "fabric/start.h"
#include "os/child.h"
#include "os/process.h"
#include "rules/rules.h"

namespace plat::cli {

const char* const kFabricExamples = R"(
A server is a machine (PLAT_NODE) with a server id (PLAT_SERVER); each has one daemon. The table says which
server is where, one line 'SERVER HOST:PORT' for each. docs/howto/fabric.md brings up two servers.

Examples:
  export PLAT_PRODUCT=a3 PLAT_FABRIC=$HOME/servers
  PLAT_NODE=a PLAT_SERVER=0 plat fabric start       the daemon of server 0
  PLAT_NODE=a plat fabric status                    whom it knows, and who holds what
  PLAT_NODE=a plat fabric stop
  plat fabric init --table servers --keys keys 0=10.0.0.1:7100 1=10.0.0.2:7100
                                                    a table and certificates for two machines)";

namespace {

constexpr uint32_t kStopMs = 5000;

struct FabricOptions {
  std::string action;
  std::string node;
  std::string table;
  std::string keys;
  std::vector<std::string> servers;
  bool json = false;
};

std::string daemon_path() { return fabric::daemon_beside(os::own_path()); }

int bad_news(const std::string& text) {
  fmt::print(stderr, "plat: {}\n", text);
  return kBadNews;
}

constexpr int kAnswerPatienceMs = 5000;

FabricStatus ask(const device::Config& config) {
  return ask_fabric(config.directory, config.node, kAnswerPatienceMs);
}

// That it is to be started is no advice to who does so.
std::string why_not_started(const Error& error) {
  const rules::Rule& rule = rules::get(error.rule);
  std::string text = fmt::format("{}: {}", rule.name, error.detail);
  if (error.rule != RuleId::FabricDaemon) text += fmt::format("\n{}", rule.fix);
  return text;
}

// One of another version would refuse every import (after an upgrade the old one has to go), and one that is
// stopped keeps everybody waiting.
bool serves(const FabricStatus& status) {
  return !status.is_null() && !status.contains("other_version") && !status.contains("silent");
}

int start(const device::Config& config) {
  const bool ran = !ask(config).is_null();
  const std::string socket = fabric::socket_path(config.directory, config.node);
  if (const auto started = fabric::start_daemon(daemon_path(), socket, fabric::kStartMs); !started)
    return bad_news(why_not_started(started.error()));
  const FabricStatus status = ask(config);
  if (status.is_null()) return bad_news(fmt::format("the daemon ended again; {}.log may say why", socket));
  if (!serves(status)) return bad_news(std::string(trim(fabric_text(status))));
  fmt::print("{}{}", ran ? "It runs already.\n" : "", fabric_text(status));
  return kDone;
}

// One of another user's may run, but is not to be reached.
bool is_forbidden(const device::Config& config) {
  return !os::connect_to(fabric::socket_path(config.directory, config.node), kAnswerPatienceMs) &&
         errno == EACCES;
}
int refuse_forbidden(const device::Config& config) {
  return bad_news(
      fmt::format("{} belongs to another user, whose daemons nobody else reaches", config.directory));
}

int stop(const device::Config& config) {
  const FabricStatus status = ask(config);
  if (status.is_null() && is_forbidden(config)) return refuse_forbidden(config);
  if (status.is_null()) {
    fmt::print("No daemon of node '{}' runs.\n", config.node);
    return kDone;
  }
  const auto pid = status.value("pid", 0);
  if (pid <= 0 || kill(pid, SIGTERM) != 0)
    return bad_news(fmt::format("pid {}: {}", pid, std::strerror(errno)));
  const uint64_t end = os::monotonic_nanoseconds() + uint64_t{kStopMs} * 1000000;
  while (!os::process_is_gone(pid) && os::monotonic_nanoseconds() < end) os::sleep_microseconds(2000);
  if (!os::process_is_gone(pid)) return bad_news(fmt::format("pid {} does not end; is it stopped?", pid));
  fmt::print("stopped\n");
  return kDone;
}

int status(const device::Config& config, bool json) {
  const FabricStatus told = ask(config);
  if (told.is_null() && is_forbidden(config)) return refuse_forbidden(config);
  if (told.is_null())
    return bad_news(fmt::format("no daemon of node '{}' runs in {}", config.node, config.directory));
  fmt::print("{}", json ? visible_json(told.dump(2)) + "\n" : fabric_text(told));
  return serves(told) ? kDone : kBadNews;
}

int init(const FabricOptions& options) {
  if (options.servers.empty() || options.keys.empty()) {
    fmt::print(stderr, "plat: init wants --keys DIRECTORY and the servers: 0=host:port 1=host:port\n");
    return kAskedWrongly;
  }
  std::vector<std::string> command{daemon_path(), "init", options.keys};
  if (!os::file_exists(command.front()))
    return bad_news(fmt::format("there is no {}: the package plat-fabric has it", command.front()));
  if (!options.table.empty() && os::exists(options.table))
    return bad_news(fmt::format("{} is there already: add lines to it yourself, and leave out --table",
                                visible(options.table)));
  std::string table;
  for (const std::string& server : options.servers) {
    const size_t equals = server.find('=');
    if (equals == std::string::npos) {
      fmt::print(stderr, "plat: '{}' is not SERVER=HOST:PORT\n", visible(server));
      return kAskedWrongly;
    }
    command.push_back(server);
    table += fmt::format("{} {}\n", server.substr(0, equals), server.substr(equals + 1));
  }
  int error = 0;
  const os::Ending made = os::run_child(command, {{"IPATH_NO_BACKTRACE", "1"}}, error);
  if (error != 0) return bad_news(fmt::format("{}: {}", command.front(), std::strerror(error)));
  if (made.signal != 0) return kBadNews;
  if (made.exit_code != 0) return made.exit_code;
  if (!options.table.empty()) {
    const os::Fd file(open(options.table.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
    if (!file || write(file.get(), table.data(), table.size()) != static_cast<ssize_t>(table.size()))
      return bad_news(fmt::format("{}: {}", options.table, std::strerror(errno)));
  }
  fmt::print(
      "{}: ca.crt for all, server-N.crt and server-N.key for server N alone.\n"
      "Keep ca.key where certificates are made; no daemon needs it.\n",
      options.keys);
  return kDone;
}

int fabric_command(const FabricOptions& options) {
  if (options.action == "init") return init(options);
  // The daemon reads its settings as programs do.
  if (!options.node.empty()) setenv("PLAT_NODE", options.node.c_str(), 1);
  if (!options.table.empty()) setenv("PLAT_FABRIC", options.table.c_str(), 1);
  if (!options.keys.empty()) setenv("PLAT_FABRIC_KEYS", options.keys.c_str(), 1);
  const device::Config config = settings_with({});
  if (!settings_make_sense(config)) return kAskedWrongly;
  if (options.action == "start") return start(config);
  if (options.action == "stop") return stop(config);
  return status(config, options.json);
}

}  // namespace

Action add_fabric(Parser& app, const Program&) {
  auto options = std::make_shared<FabricOptions>();
  app.add_option("action", options->action, "What to do: start, stop, status, init")
      .required()
      .one_of({"start", "stop", "status", "init"});
  app.add_option("servers", options->servers, "Of init: SERVER=HOST:PORT for each server");
  app.add_option("--node", options->node, "The machine whose daemon is meant (PLAT_NODE)").type_name("NAME");
  app.add_option("--table", options->table, "Which server is where (PLAT_FABRIC); init writes it")
      .type_name("FILE");
  app.add_option("--keys", options->keys, "The certificates (PLAT_FABRIC_KEYS); init makes them")
      .type_name("DIRECTORY");
  app.add_flag("--json", options->json, "Of status: as JSON, sizes in bytes");
  return [options] { return fabric_command(*options); };
}

}  // namespace plat::cli
