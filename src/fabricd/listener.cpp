// SPDX-License-Identifier: Apache-2.0
#include "fabricd/listener.h"

#include <grpcpp/security/server_credentials.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <chrono>

#include "fabricd/keepalive.h"
#include "os/process.h"

namespace plat::fabricd {

namespace {

constexpr int kOn = 1;
constexpr int kQueue = 128;
constexpr int kQuietMs = 10000;  // whoever has connected has said what it wants by then

struct FreeAddresses {
  void operator()(addrinfo* found) const { freeaddrinfo(found); }
};

// Two daemons cannot listen at one address: they would share callers.
os::Fd listen_at(const addrinfo& address) {
  os::Fd socket(::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket || setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &kOn, sizeof kOn) != 0 ||
      bind(socket.get(), address.ai_addr, address.ai_addrlen) != 0 || listen(socket.get(), kQueue) != 0)
    return {};
  return socket;
}

}  // namespace

Outcome<std::unique_ptr<Listener>> Listener::open(const ServerAddress& address, const Keys& keys,
                                                  Guests& guests) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  const std::string port = std::to_string(address.port);
  if (const int error = getaddrinfo(address.host.c_str(), port.c_str(), &hints, &found); error != 0)
    return trouble(Cause::Unreachable, "{}: {}", address.text(), gai_strerror(error));
  const std::unique_ptr<addrinfo, FreeAddresses> addresses(found);
  std::unique_ptr<Listener> made(new Listener(keys, guests));
  for (const addrinfo* one = found; one != nullptr && !made->socket_; one = one->ai_next)
    made->socket_ = listen_at(*one);
  if (!made->socket_)
    return trouble(Cause::Unreachable, "{}: {}{}", address.text(), std::strerror(errno),
                   errno == EADDRINUSE ? "; does another daemon?" : "");
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  getsockname(made->socket_.get(), reinterpret_cast<sockaddr*>(&own), &size);
  made->port_ = ntohs(own.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(own).sin6_port
                                                : reinterpret_cast<sockaddr_in&>(own).sin_port);
  return made;
}

void Listener::start_server() {
  grpc::SslServerCredentialsOptions options(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  options.pem_root_certs = keys_.authority;
  options.pem_key_cert_pairs.push_back({keys_.key, keys_.certificate});
  grpc::ServerBuilder builder;
  set_keep_alive(builder, [](auto& b, const char* name, int value) { b.AddChannelArgument(name, value); });
  acceptor_ = builder.experimental().AddExternalConnectionAcceptor(
      grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD,
      grpc::SslServerCredentials(options));
  builder.RegisterService(&guests_);
  server_ = builder.BuildAndStart();
}

void Listener::stop_server() {
  server_->Shutdown(std::chrono::system_clock::now());
  server_->Wait();
  server_.reset();
  acceptor_.reset();
}

void Listener::serve() {
  for (;;) {
    pollfd watched{socket_.get(), POLLIN, 0};
    if (poll(&watched, 1, server_ != nullptr ? kQuietMs : -1) == 0) {
      if (guests_.are_gone()) stop_server();
      continue;
    }
    os::Fd connection(accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!connection) {
      // One that came may have gone again; else there are no file numbers left.
      if (errno != EINTR && errno != ECONNABORTED && errno != EAGAIN) os::sleep_microseconds(10000);
      continue;
    }
    setsockopt(connection.get(), IPPROTO_TCP, TCP_NODELAY, &kOn, sizeof kOn);
    if (server_ == nullptr) start_server();
    if (server_ == nullptr) continue;
    grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters parameters;
    parameters.listener_fd = socket_.get();
    parameters.fd = connection.release();
    acceptor_->HandleNewConnection(&parameters);
  }
}

}  // namespace plat::fabricd
