// SPDX-License-Identifier: Apache-2.0
// A bad network between servers of one machine: whoever connects to a port at 127.0.0.2 comes to the same
// port at 127.0.0.1, late, out of turn, and not for long.
//
// It runs as a process of its own. To stop it is a link that stalls, to kill it a link that is cut.
#pragma once

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "os/file.h"
#include "os/process.h"

namespace plat::test {

inline constexpr const char* kProxyHost = "127.0.0.2";

class Proxy {
 public:
  struct Manners {
    double stalls = 0;                // chance that a piece of bytes waits,
    uint32_t longest_stall_us = 0;    // at most so long
    double cuts = 0;                  // chance that a connection ends with a piece
    uint32_t longest_connect_us = 0;  // a connection waits before it goes on, so that others pass it
  };

  // Serves the ports until it is killed; of a process that has been forked for it.
  [[noreturn]] static void run(const std::vector<uint16_t>& ports, Manners manners, uint64_t seed) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGPIPE, SIG_IGN);
    std::vector<pollfd> listeners;
    for (const uint16_t port : ports) listeners.push_back({listen_at(port), POLLIN, 0});
    for (;;) {
      poll(listeners.data(), listeners.size(), -1);
      for (size_t i = 0; i < listeners.size(); ++i) {
        if (listeners[i].revents == 0) continue;
        const int near = accept(listeners[i].fd, nullptr, nullptr);
        if (near >= 0) std::thread(carry, near, ports[i], manners, ++seed).detach();
      }
    }
  }

  // Whether one listens there.
  static bool serves(uint16_t port) {
    const os::Fd probe(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const sockaddr_in address = at(INADDR_LOOPBACK + 1, port);
    return connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  }

 private:
  static sockaddr_in at(uint32_t host, uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(host);
    return address;
  }

  static int listen_at(uint16_t port) {
    const int listener = socket(AF_INET, SOCK_STREAM, 0);
    const int on = 1;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    const sockaddr_in address = at(INADDR_LOOPBACK + 1, port);
    if (bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
        listen(listener, 64) != 0)
      _exit(3);
    return listener;
  }

  static void carry(int near_number, uint16_t port, Manners manners, uint64_t seed) {
    std::mt19937_64 random(seed);
    if (manners.longest_connect_us > 0)
      os::sleep_microseconds(static_cast<uint32_t>(random() % manners.longest_connect_us));
    const auto near = std::make_shared<os::Fd>(near_number);
    const auto far = std::make_shared<os::Fd>(socket(AF_INET, SOCK_STREAM, 0));
    const sockaddr_in address = at(INADDR_LOOPBACK, port);
    if (connect(far->get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) return;
    const int on = 1;
    for (const auto& end : {near, far}) setsockopt(end->get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    std::thread(pump, far, near, manners, seed + 1).detach();
    pump(near, far, manners, seed + 2);
  }

  static void pump(const std::shared_ptr<os::Fd>& from, const std::shared_ptr<os::Fd>& to, Manners manners,
                   uint64_t seed) {
    std::mt19937_64 random(seed);
    const auto happens = [&](double chance) {
      return chance > 0 && std::uniform_real_distribution<double>(0, 1)(random) < chance;
    };
    std::vector<char> bytes(1 << 18);
    for (;;) {
      const ssize_t got = read(from->get(), bytes.data(), bytes.size());
      if (got <= 0 || happens(manners.cuts)) break;
      if (happens(manners.stalls))
        os::sleep_microseconds(static_cast<uint32_t>(random() % manners.longest_stall_us));
      for (ssize_t sent = 0; sent < got;) {
        const ssize_t done = write(to->get(), bytes.data() + sent, static_cast<size_t>(got - sent));
        if (done <= 0) break;
        sent += done;
      }
    }
    shutdown(from->get(), SHUT_RDWR);
    shutdown(to->get(), SHUT_RDWR);
  }
};

}  // namespace plat::test
