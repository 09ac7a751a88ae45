// SPDX-License-Identifier: Apache-2.0
// The listener for what other servers say: mutual TLS, always.
//
// gRPC wakes up several times a second whether anybody speaks or not. So it is started by the first
// connection that comes, and ended when the last guest has left: a daemon that no other server uses sleeps.
#pragma once

#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <memory>

#include "fabricd/guests.h"
#include "fabricd/keys.h"
#include "fabricd/table.h"
#include "os/file.h"

namespace plat::fabricd {

class Listener {
 public:
  // The port of 0 lets the system choose.
  static Outcome<std::unique_ptr<Listener>> open(const ServerAddress& address, const Keys& keys,
                                                 Guests& guests);
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  uint32_t port() const { return port_; }
  // Takes connections for ever.
  void serve();

 private:
  Listener(const Keys& keys, Guests& guests) : keys_(keys), guests_(guests) {}
  void start_server();
  void stop_server();

  const Keys keys_;
  Guests& guests_;
  os::Fd socket_;
  uint32_t port_ = 0;
  std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor_;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace plat::fabricd
