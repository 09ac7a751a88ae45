// SPDX-License-Identifier: Apache-2.0
// Unix sockets that keep messages whole (SOCK_SEQPACKET), between processes of one machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "os/file.h"
#include "os/lookout.h"

namespace plat::os {

// A socket of this user's alone at the path; empty and errno on failure. What lies at the path is removed
// first.
Fd listen_at(const std::string& path);
// One that is connected to it; empty and errno on failure: EAGAIN when whoever listens there has not taken it
// by then, with many others waiting too.
Fd connect_to(const std::string& path, uint32_t timeout_ms);

// Who is at the other end.
struct SocketPeer {
  int32_t pid = 0;
  uint32_t user = 0;
};
std::optional<SocketPeer> peer_of(int socket);

// A message lies in up to two places, one behind the other; `file` (-1: none) goes with it. False when the
// other side is gone; never a signal.
bool send_packet(int socket, std::span<const std::byte> head, std::span<const std::byte> tail, int file);

enum class Received { Message, Nothing, End };  // Nothing: the time is up
// `timeout_ms` -1: for ever. `size_bytes` is that of the message. A file that nobody wants is closed. With a
// lookout it does not sleep at once.
Received receive_packet(int socket, std::span<std::byte> head, std::span<std::byte> tail, int timeout_ms,
                        size_t& size_bytes, Fd* file, Lookout* lookout = nullptr);

}  // namespace plat::os
