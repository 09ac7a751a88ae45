// SPDX-License-Identifier: Apache-2.0
#include "os/packets.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "os/process.h"

namespace plat::os {

namespace {

union FileSpace {
  cmsghdr header;
  char bytes[CMSG_SPACE(sizeof(int))];
};

// Sleeps until there is something; a signal does not make it sleep longer.
bool sleep_for(int socket, int timeout_ms) {
  const uint64_t end = monotonic_nanoseconds() + static_cast<uint64_t>(timeout_ms) * 1000000;
  for (;;) {
    int left = timeout_ms;
    if (timeout_ms > 0) {
      const uint64_t now = monotonic_nanoseconds();
      if (now >= end) return false;
      left = static_cast<int>((end - now + 999999) / 1000000);
    }
    pollfd watched{socket, POLLIN, 0};
    const int ready = poll(&watched, 1, left);
    if (ready > 0) return true;
    if (ready == 0) return false;
    if (errno != EINTR) return true;
  }
}

bool wait_for(int socket, int timeout_ms, Lookout* lookout) {
  if (timeout_ms == 0) return true;  // the receive itself will say
  const auto sleep = [&] { return sleep_for(socket, timeout_ms); };
  const auto look = [&] {
    pollfd watched{socket, POLLIN, 0};
    return poll(&watched, 1, 0) != 0;
  };
  return lookout == nullptr ? sleep() : lookout->wait(look, sleep);
}

bool address_of(const std::string& path, sockaddr_un& address) {
  address = {};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    errno = ENAMETOOLONG;
    return false;
  }
  std::memcpy(address.sun_path, path.c_str(), path.size());
  return true;
}

Fd packet_socket() { return Fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)); }

}  // namespace

Fd listen_at(const std::string& path) {
  sockaddr_un address;
  Fd made = packet_socket();
  if (!made || !address_of(path, address)) return Fd();
  unlink(path.c_str());
  // Nobody but this user can connect, from the first moment on.
  const mode_t before = umask(0177);
  const int bound = bind(made.get(), reinterpret_cast<sockaddr*>(&address), sizeof address);
  umask(before);
  if (bound != 0 || listen(made.get(), 128) != 0) return Fd();
  return made;
}

Fd connect_to(const std::string& path, uint32_t timeout_ms) {
  sockaddr_un address;
  Fd made = packet_socket();
  if (!made || !address_of(path, address)) return Fd();
  // Where the listener's queue is full, this is how long it waits. Messages are not meant.
  const auto patience = [&](const timeval& time) {
    return setsockopt(made.get(), SOL_SOCKET, SO_SNDTIMEO, &time, sizeof time) == 0;
  };
  const uint32_t ms = std::max(timeout_ms, 1u);  // none is for ever
  if (!patience({static_cast<time_t>(ms / 1000), static_cast<suseconds_t>(ms % 1000 * 1000)})) return Fd();
  int connected = 0;
  do connected = connect(made.get(), reinterpret_cast<sockaddr*>(&address), sizeof address);
  while (connected != 0 && errno == EINTR);
  if (connected != 0 || !patience({})) return Fd();
  return move_high(std::move(made));
}

std::optional<SocketPeer> peer_of(int socket) {
  ucred who{};
  socklen_t size = sizeof who;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &who, &size) != 0) return std::nullopt;
  return SocketPeer{who.pid, who.uid};
}

bool send_packet(int socket, std::span<const std::byte> head, std::span<const std::byte> tail, int file) {
  iovec parts[2] = {{const_cast<std::byte*>(head.data()), head.size()},
                    {const_cast<std::byte*>(tail.data()), tail.size()}};
  FileSpace space{};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = tail.empty() ? 1 : 2;
  if (file >= 0) {
    message.msg_control = &space;
    message.msg_controllen = sizeof space.bytes;
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof file);
    std::memcpy(CMSG_DATA(header), &file, sizeof file);
  }
  ssize_t sent = 0;
  do sent = sendmsg(socket, &message, MSG_NOSIGNAL);
  while (sent < 0 && errno == EINTR);
  return sent >= 0;
}

Received receive_packet(int socket, std::span<std::byte> head, std::span<std::byte> tail, int timeout_ms,
                        size_t& size_bytes, Fd* file, Lookout* lookout) {
  if (!wait_for(socket, timeout_ms, lookout)) return Received::Nothing;
  iovec parts[2] = {{head.data(), head.size()}, {tail.data(), tail.size()}};
  FileSpace space{};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = 2;
  message.msg_control = &space;
  message.msg_controllen = sizeof space;
  ssize_t got = 0;
  do got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  while (got < 0 && errno == EINTR);
  if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return Received::Nothing;
  for (cmsghdr* at = got > 0 ? CMSG_FIRSTHDR(&message) : nullptr; at != nullptr;
       at = CMSG_NXTHDR(&message, at)) {
    if (at->cmsg_level != SOL_SOCKET || at->cmsg_type != SCM_RIGHTS) continue;
    int received = -1;
    std::memcpy(&received, CMSG_DATA(at), sizeof received);
    Fd owned(received);
    if (file != nullptr) *file = std::move(owned);
  }
  if (got <= 0) return Received::End;
  size_bytes = static_cast<size_t>(got);
  return Received::Message;
}

}  // namespace plat::os
