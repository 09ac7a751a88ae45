// SPDX-License-Identifier: Apache-2.0
// Channel: moves memory for one connection of a process.
#pragma once

#include <array>
#include <memory>
#include <utility>

#include "fabric/deadline.h"
#include "fabric/wire.h"
#include "fabricd/sessions.h"
#include "os/lookout.h"

namespace plat::fabricd {

class Channel {
 public:
  Channel(int socket, std::shared_ptr<Session> session, Link::Memory buffers)
      : socket_(socket), session_(std::move(session)), buffers_(buffers) {}
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  // Until the process closes it, or its session ends.
  void serve();

 private:
  struct Slot {
    Link::Operation operation;  // first: libfabric gives back where it is
    ImportedPtr imported;       // none: nothing is under way
    fabric::Deadline deadline{0};
  };
  void take(const fabric::Request& request);
  Outcome<> start(const fabric::Request& request, Slot& slot);
  Outcome<> use(const Imported& imported, const fabric::Deadline& deadline);
  void wait();
  void tell();
  void answer(uint32_t buffers, const Trouble& why);
  // Ends the data connection; whatever was under way has failed.
  void give_up(const Trouble& why);

  static constexpr uint32_t kLookMs = 100;

  const int socket_;
  const std::shared_ptr<Session> session_;
  const Link::Memory buffers_;
  std::array<Slot, fabric::kBuffers> slots_{};
  os::Lookout requests_;
  uint32_t busy_ = 0;
  uint32_t done_ = 0;               // a bit for each buffer that the process was not told of yet
  fabric::Deadline look_{kLookMs};  // when the other server, and what takes long, is looked after next
  Peer::Connection connection_;
  std::weak_ptr<Peer> leads_to_;  // a connection alone keeps no acquaintance
  std::shared_ptr<Peer> peer_;    // the same, while something is under way
};

}  // namespace plat::fabricd
