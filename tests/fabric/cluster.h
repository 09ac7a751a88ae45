// SPDX-License-Identifier: Apache-2.0
// Servers of one machine for tests: each a node with a daemon of its own, over loopback.
#pragma once

#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "fabric/message.h"
#include "os/process.h"

namespace plat::test {

class Cluster {
 public:
  enum class Daemons { Run, AreStartedLater };
  explicit Cluster(uint32_t servers = 2, std::string capacity = "256MiB", Daemons daemons = Daemons::Run)
      : capacity_(std::move(capacity)) {
    char name[] = "/dev/shm/plat-fabric-XXXXXX";
    directory_ = mkdtemp(name);
    for (uint32_t server = 0; server < servers; ++server) ports_.push_back(free_port());
    for (uint32_t server = 0; server < servers; ++server) write_table(server);
    for (uint32_t server = 0; server < servers && daemons == Daemons::Run; ++server) start(server);
  }
  ~Cluster() {
    if (getpid() != owner_) return;
    while (!daemons_.empty()) kill_daemon(daemons_.begin()->first);
    for (uint32_t server = 0; server < ports_.size(); ++server)
      if (const pid_t pid = running(server); pid > 0) kill(pid, SIGKILL);
    std::filesystem::remove_all(directory_);
  }

  const std::string& directory() const { return directory_; }
  std::string socket(uint32_t server) const { return fabric::socket_path(directory_, node(server)); }
  pid_t daemon(uint32_t server) const { return daemons_.at(server); }

  // Whoever answers at the socket, this test's child or not; 0 is nobody.
  pid_t running(uint32_t server) const {
    const os::Fd asking = os::connect_to(socket(server), 10000);
    return asking ? os::peer_of(asking.get()).value_or(os::SocketPeer{}).pid : 0;
  }

  // What the daemon says of itself.
  std::string status(uint32_t server) const {
    const os::Fd asking = os::connect_to(socket(server), 10000);
    fabric::Reply reply;
    std::string text;
    fabric::send(asking.get(), fabric::Request{});
    fabric::receive(asking.get(), reply, text, -1);
    return text;
  }

  // Where the daemon listens: for what is said, and for memory.
  std::vector<uint16_t> ports(uint32_t server) const {
    const std::string text = status(server);
    const auto number_behind = [&](const char* words) {
      const size_t at = text.find(words);
      if (at == std::string::npos) give_up("says: " + text);
      return static_cast<uint16_t>(std::stoul(text.substr(at + strlen(words))));
    };
    return {ports_[server], number_behind("\"data_port\":")};
  }

  // A server looks for another one at this host, from the next start of its daemon on.
  void route(uint32_t server, uint32_t other, const std::string& host) {
    routes_[{server, other}] = host;
    write_table(server);
  }
  // And takes the one at this port for it.
  void meet(uint32_t server, uint32_t other, uint16_t port) {
    ports_[other] = port;
    write_table(server);
  }
  std::string table(uint32_t server) const { return directory_ + "/servers-" + std::to_string(server); }

  // Makes the calling process one of this server's. Before its first ACL call.
  void join(uint32_t server) const {
    const auto set = [](const char* name, const std::string& value) { setenv(name, value.c_str(), 1); };
    set("PLAT_PRODUCT", "a3");
    set("PLAT_DIR", directory_);
    set("PLAT_NODE", node(server));
    set("PLAT_SERVER", std::to_string(server));
    set("PLAT_DEVICES", "2");
    set("PLAT_CAPACITY", capacity_);
    set("PLAT_HOST_CAPACITY", "64MiB");
    set("PLAT_QUIET", "1");
    set("PLAT_LOG", "off");
    setenv("IPATH_NO_BACKTRACE", "1", 1);
  }

  // Lets a program of this server start the daemon itself, if it does not run.
  void configure(uint32_t server) const { setenv("PLAT_FABRIC", table(server).c_str(), 1); }

  // In that network namespace, or in the caller's.
  void start(uint32_t server, int network = -1) {
    const pid_t child = fork();
    if (child == 0) {
      if (network >= 0 && setns(network, CLONE_NEWNET) != 0) _exit(127);
      join(server);
      configure(server);
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      execl(FABRIC_DAEMON, FABRIC_DAEMON, "serve", nullptr);
      _exit(127);
    }
    daemons_[server] = child;
    while (!os::connect_to(socket(server), 10000)) {
      if (waitpid(child, nullptr, WNOHANG) == child) give_up("did not start");
      os::sleep_microseconds(2000);
    }
  }
  void kill_daemon(uint32_t server, int signal = SIGKILL) {
    kill(daemons_.at(server), signal);
    kill(daemons_.at(server), SIGCONT);
    waitpid(daemons_.at(server), nullptr, 0);
    daemons_.erase(server);
  }

 private:
  // The benchmark, which is no test, uses this too.
  [[noreturn]] static void give_up(const std::string& why) {
    fprintf(stderr, "a daemon %s\n", why.c_str());
    _exit(1);
  }
  void write_table(uint32_t server) const {
    std::ofstream table(this->table(server));
    for (uint32_t other = 0; other < ports_.size(); ++other) {
      const auto route = routes_.find({server, other});
      table << other << " " << (route != routes_.end() ? route->second : "127.0.0.1") << ":" << ports_[other]
            << "\n";
    }
  }
  static std::string node(uint32_t server) { return "s" + std::to_string(server); }
  // Below those that the system gives away itself.
  static uint16_t free_port() {
    for (uint64_t tried = os::random_number();; ++tried) {
      const auto port = static_cast<uint16_t>(10000 + tried % 20000);
      const os::Fd probe(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
      sockaddr_in address{};
      address.sin_family = AF_INET;
      address.sin_port = htons(port);
      address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      if (bind(probe.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) return port;
    }
  }

  std::string capacity_;
  std::string directory_;
  std::vector<uint16_t> ports_;
  std::map<std::pair<uint32_t, uint32_t>, std::string> routes_;
  std::map<uint32_t, pid_t> daemons_;
  pid_t owner_ = getpid();
};

}  // namespace plat::test
