// SPDX-License-Identifier: Apache-2.0
// Link: a data connection to another server, from the side that reads and writes.
//
// One thread uses it. An operation that was posted belongs to libfabric until it comes back from wait();
// cut() brings all of them back at once.
#pragma once

#include <rdma/fi_rma.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>

#include "fabric/deadline.h"
#include "fabricd/provider.h"
#include "os/lookout.h"

namespace plat::fabricd {

class Link {
 public:
  struct Address {
    std::string host;
    uint32_t port = 0;
  };
  // `memory` is what operations will read from and write to.
  struct Memory {
    std::byte* start = nullptr;
    uint64_t size_bytes = 0;
  };
  static Outcome<std::unique_ptr<Link>> connect(const Address& address, const Opening& opening, Memory memory,
                                                const fabric::Deadline& deadline);
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;
  ~Link() { cut(); }

  struct Operation {
    fi_context context{};  // first: this is what libfabric gives back
    bool is_write = false;
    uint64_t remote = 0;
    uint64_t key = 0;
    std::byte* local = nullptr;
    uint64_t size_bytes = 0;
  };
  // The operation stays where it is until it has come back.
  Outcome<> post(Operation& operation, const fabric::Deadline& deadline);
  // One that is done; nullptr when the time is up, or there is something to read at `other`, a file number.
  // After an error nothing comes back but by cut().
  Outcome<Operation*> wait(uint32_t timeout_ms, int other = -1);
  // Ends the connection; all operations are back when it returns.
  void cut();

 private:
  Link() = default;

  Adapter adapter_;
  Fid<fid_mr> local_;
  Fid<fid_ep> endpoint_;
  os::Lookout lookout_;
  uint32_t outstanding_ = 0;
};

}  // namespace plat::fabricd
