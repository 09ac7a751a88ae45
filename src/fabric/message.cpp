// SPDX-License-Identifier: Apache-2.0
#include "fabric/message.h"

#include <memory>

namespace plat::fabric {

namespace {

template <class Message>
std::span<std::byte> bytes_of(Message& message) {
  return std::as_writable_bytes(std::span(&message, 1));
}

}  // namespace

Received receive(int socket, Request& request, int timeout_ms, os::Lookout* lookout) {
  size_t size = 0;
  const Received got = os::receive_packet(socket, bytes_of(request), {}, timeout_ms, size, nullptr, lookout);
  // Another version may ask in another length; whoever reads the version can tell it so.
  const bool is_ours =
      size == sizeof request || (size >= sizeof request.version && request.version != kWireVersion);
  return got == Received::Message && !is_ours ? Received::End : got;
}

Received receive(int socket, Reply& reply, std::string& text, int timeout_ms, os::Fd* file,
                 os::Lookout* lookout) {
  // Not cleared: nearly every reply is without text.
  const auto room = std::make_unique_for_overwrite<std::byte[]>(kLongestText);
  size_t size = 0;
  const Received got = os::receive_packet(socket, bytes_of(reply), {room.get(), kLongestText}, timeout_ms,
                                          size, file, lookout);
  text.assign(reinterpret_cast<const char*>(room.get()), size < sizeof reply ? 0 : size - sizeof reply);
  return got == Received::Message && size < sizeof reply ? Received::End : got;
}

bool send(int socket, const Request& request) {
  return os::send_packet(socket, std::as_bytes(std::span(&request, 1)), {}, -1);
}

bool send(int socket, const Reply& reply, std::string_view text, int file) {
  return os::send_packet(socket, std::as_bytes(std::span(&reply, 1)),
                         std::as_bytes(std::span(text.substr(0, kLongestText))), file);
}

}  // namespace plat::fabric
