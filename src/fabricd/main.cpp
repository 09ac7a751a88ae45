// SPDX-License-Identifier: Apache-2.0
// plat-fabricd: the daemon that lets programs of this server use memory of others, and others that of ours.
//
//   plat-fabricd serve              for the node of PLAT_NODE, with the table of PLAT_FABRIC
//   plat-fabricd init DIR SERVER=HOST:PORT...  makes certificates, if a table of these makes sense
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "base/text.h"
#include "device/node.h"
#include "fabric/daemon.h"
#include "fabric/daemon_files.h"
#include "fabricd/listener.h"
#include "fabricd/status.h"
#include "os/process.h"
#include "rules/rules.h"

namespace plat::fabricd {

namespace {

constexpr int kDone = 0;
constexpr int kBadNews = 1;
constexpr int kAskedWrongly = 2;
constexpr uint32_t kServerDays = 825;

int complain(const std::string& text) {
  fmt::print(stderr, "plat-fabricd: {}\n", text);
  return kBadNews;
}
int complain(const Trouble& why) {
  const RuleId rule = fabric::import_rule(why.cause);
  return complain(fmt::format("{}: {}\n{}", rules::get(rule).name, why.text, rules::get(rule).fix));
}

// libfabric puts handlers in front of these, which hide how the daemon ended.
void forget_handlers() {
  for (const int number : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGINT, SIGTERM, SIGHUP})
    signal(number, SIG_DFL);
  signal(SIGPIPE, SIG_IGN);
}

int serve() {
  forget_handlers();
  setenv("GRPC_VERBOSITY", "NONE", 0);  // it writes a line for every stranger
  sigset_t ending;
  sigemptyset(&ending);
  for (const int number : {SIGINT, SIGTERM}) sigaddset(&ending, number);
  pthread_sigmask(SIG_BLOCK, &ending, nullptr);  // all threads inherit it
  device::Config config = device::read_config();
  config.quiet = true;
  const std::string table_path = device::setting("fabric").value_or("");
  if (table_path.empty())
    return complain("PLAT_FABRIC is not set: it names the table of servers, lines of 'SERVER HOST:PORT'");
  device::Node node(std::move(config));
  if (const auto sound = node.check_settings(); !sound) return complain(sound.error().detail);
  if (node.config().is_private()) return complain("a private machine has no other servers");
  if (node.config().server > kMaxServer || !node.product().cross_server)
    return complain(fmt::format(
        "{} {}: memory between servers needs PLAT_PRODUCT=a3 and PLAT_SERVER=0..{}", node.product().soc_name,
        node.product().cross_server ? "without a server id" : "has no fabric", kMaxServer));
  const uint32_t server = node.config().server;
  const auto table = read_table(table_path);
  if (!table) return complain(table.error().text);
  const auto own = table->find(server);
  if (own == table->end())
    return complain(fmt::format("PLAT_FABRIC={}: there is no server {}, which is this one (PLAT_SERVER)",
                                table_path, server));
  const std::string& directory = node.config().directory;
  if (const int error = os::make_private_directory(directory); error != 0)
    return complain(fmt::format("directory {}: {}", directory, std::strerror(error)));
  const std::string socket = fabric::socket_path(directory, node.config().node);
  const os::Fd only = fabric::lock_file(socket + ".lock");
  if (!only)
    return complain(errno == EAGAIN ? fmt::format("a daemon of node '{}' runs already", node.config().node)
                                    : fmt::format("{}.lock: {}", socket, std::strerror(errno)));
  // Without keys of the user's choice, nodes of one user on one machine know each other by these.
  const auto chosen = device::setting("fabric_keys");
  const std::string key_directory = chosen.value_or(directory + "/fabric-keys");
  if (!chosen)
    if (const auto made = make_keys(key_directory, server, kServerDays); !made) return complain(made.error());
  const auto keys = load_keys(key_directory, server);
  if (!keys) return complain(keys.error());

  auto listening = Target::listen(own->second.host);
  if (!listening) return complain(listening.error().text);
  Target& target = *listening->release();  // its threads never end
  const Self self{server, node.config().node, os::random_number()};
  Exports exports(node, target);
  Guests guests(self, exports, target);
  auto listener = Listener::open(own->second, *keys, guests);
  if (!listener) return complain(fmt::format("server {} cannot listen at {}", server, listener.error().text));
  Peers peers(self, key_directory, *table);
  const os::Fd processes = os::listen_at(socket);
  if (!processes) return complain(fmt::format("{}: {}", socket, std::strerror(errno)));
  Sessions sessions(peers, [&](const std::vector<Session::Seen>& users) {
    return status_text({self, own->second.text(), target.port()}, guests.seen(), peers.seen(), users);
  });
  std::thread(&Peers::tidy, &peers).detach();
  std::thread(&Sessions::serve, &sessions, processes.get()).detach();
  std::thread(&Listener::serve, listener->get()).detach();
  int number = 0;
  sigwait(&ending, &number);
  // Everybody notices by themselves: this is no different from being killed.
  unlink(socket.c_str());
  std::fflush(nullptr);
  _exit(kDone);
}

int init(int argc, char** argv) {
  std::string text;
  for (int at = 3; at < argc; ++at) {
    std::string line = argv[at];
    if (const size_t equals = line.find('='); equals != std::string::npos) line[equals] = ' ';
    text += line + "\n";
  }
  const auto table = parse_table(text);
  if (!table) {
    complain(table.error().text);
    return kAskedWrongly;
  }
  for (const auto& [server, address] : *table)
    if (const auto made = make_keys(argv[2], server, kServerDays); !made) return complain(made.error());
  return kDone;
}

}  // namespace

}  // namespace plat::fabricd

int main(int argc, char** argv) {
  const std::string_view what = argc > 1 ? argv[1] : "";
  if (what == "serve" && argc == 2) {
    const int code = plat::fabricd::serve();
    std::fflush(nullptr);
    _exit(code);  // the libraries, which clean up at the end, are in use by its threads
  }
  if (what == "init" && argc > 3) return plat::fabricd::init(argc, argv);
  if (what == "--version") {
    fmt::print("plat-fabricd {}\n", PLAT_VERSION);
    return 0;
  }
  fmt::print(
      stderr,
      "usage: plat-fabricd serve | init DIRECTORY SERVER=HOST:PORT...\n'plat fabric' runs it for you.\n");
  return plat::fabricd::kAskedWrongly;
}
