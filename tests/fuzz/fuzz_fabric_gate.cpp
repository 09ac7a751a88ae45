// SPDX-License-Identifier: Apache-2.0
// The port for memory: anybody on the network says anything. Nobody without a ticket comes in, whatever
// libfabric makes of his request to connect, and the port goes on listening.
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fuzz/fabric_server.h"

using namespace plat;
using fuzz::require;

namespace {

struct World : fuzz::Server {
  fabricd::Opening expected = *target->expect(7, 10);  // a ticket that nobody on the network knows
};
World& world() {
  static auto* const made = new World;
  return *made;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fabricd::Opening opening;
  if (fabricd::parse_opening(data, size, opening))
    require(size >= sizeof opening && opening.version == fabricd::Opening::kVersion);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(world().target->port()));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  os::Fd socket;
  int connected = -1;
  do {
    socket = os::Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    // No trace of it in the system's table of ended connections: there is room for some thousand only.
    const linger at_once{1, 0};
    setsockopt(socket.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    connected = connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address);
  } while (connected != 0 && errno == EINTR);  // the fuzzer's own alarm
  require(connected == 0);
  (void)send(socket.get(), data, size, MSG_NOSIGNAL);
  // A whole request is answered; for less than one it waits.
  pollfd answered{socket.get(), POLLIN, 0};
  poll(&answered, 1, size >= 64 ? 20 : 1);
  require(world().target->connections(7) == 0);
  return 0;
}
