// SPDX-License-Identifier: Apache-2.0
// The listener for programs: connections of a program that has lost its mind. Whatever they say, the daemon
// goes on, and a sane program is answered.
#include <sys/socket.h>

#include <thread>

#include "fabric/message.h"
#include "fuzz/fabric_server.h"

using namespace plat;
using fuzz::require;

namespace {

struct Listening {
  std::string path = fuzz::fresh_directory() + "/socket";
  fabricd::Peers peers{{0, "fuzzed", 1}, fuzz::fresh_directory(), {}};
  fabricd::Sessions sessions{peers, [](const auto& processes) { return std::to_string(processes.size()); }};
  os::Fd listener = os::listen_at(path);

  Listening() { std::thread(&fabricd::Sessions::serve, &sessions, listener.get()).detach(); }
};

Listening& listening() {
  static auto* const made = new Listening;  // its threads never end
  return *made;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input input(data, size);
  uint64_t session = 0;
  std::vector<os::Fd> connections;
  for (int messages = 0; messages < 32 && !input.empty(); ++messages) {
    const auto what = input.number<uint8_t>();
    if (connections.empty() || what % 8 == 0) connections.push_back(os::connect_to(listening().path, 10000));
    const int socket = connections[what / 8 % connections.size()].get();
    if (socket < 0) break;
    if (what % 8 == 1) {  // bytes of any length
      const std::string bytes = input.text(input.number<uint8_t>());
      (void)send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      continue;
    }
    fabric::Request request;
    if (what % 8 == 2) {
      input.take(&request, sizeof request);
    } else {
      request.ask = static_cast<fabric::Ask>(input.number<uint8_t>() % 8);
      request.session = what % 8 == 3 ? input.number<uint64_t>() : session;
      request.import = input.number<uint8_t>();
      request.offset = input.number<uint64_t>();
      request.size_bytes = input.number<uint32_t>();
      request.buffer = input.number<uint8_t>();
      request.server = input.number<uint16_t>();
    }
    request.deadline_ms %= 10;
    if (!fabric::send(socket, request)) continue;
    fabric::Reply reply;
    std::string text;
    // Who asks for something sane learns of a session; who does not may wait in vain.
    const bool is_hello = request.ask == fabric::Ask::Hello && request.version == fabric::kWireVersion;
    if (is_hello && fabric::receive(socket, reply, text, 20) == fabric::Received::Message &&
        reply.session != 0)
      session = reply.session;
  }
  connections.clear();
  const os::Fd sane = os::connect_to(listening().path, 10000);
  fabric::Reply reply;
  std::string text;
  require(fabric::send(sane.get(), fabric::Request{}));
  require(fabric::receive(sane.get(), reply, text, 60000) == fabric::Received::Message);
  require(reply.cause == fabric::Cause::None && !text.empty());
  return 0;
}
