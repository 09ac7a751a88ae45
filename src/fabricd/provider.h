// SPDX-License-Identifier: Apache-2.0
// What both ends of a data connection ask of libfabric.
//
// Endpoints are connected ones (FI_EP_MSG): a connection can be refused before anything of it is parsed, and
// its end is told. Providers differ in how memory is named; whoever registers it honours the mode that the
// provider chose.
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>

#include <array>
#include <cstring>
#include <memory>
#include <string>

#include "fabricd/outcome.h"

namespace plat::fabricd {

// Closes what libfabric opened.
struct CloseFid {
  template <class T>
  void operator()(T* opened) const {
    fi_close(&opened->fid);
  }
};
template <class T>
using Fid = std::unique_ptr<T, CloseFid>;

struct FreeInfo {
  void operator()(fi_info* info) const { fi_freeinfo(info); }
};
using Info = std::unique_ptr<fi_info, FreeInfo>;

// What is asked of a provider at an address; FI_SOURCE when it is one of our own.
Outcome<Info> find_provider(const std::string& host, const std::string& port, uint64_t flags);

// Keeps what open(&made) makes. False, with the error, if it makes nothing.
template <class T, class Open>
bool opened(Fid<T>& fid, long& error, Open&& open) {
  T* made = nullptr;
  error = open(&made);
  if (error == 0) fid.reset(made);
  return error == 0;
}

// What either side opens before its endpoints, and closes after them.
struct Adapter {
  Info info;
  Fid<fid_fabric> fabric;
  Fid<fid_domain> domain;
  Fid<fid_eq> events;  // of connections
  Fid<fid_cq> done;    // of transfers
  int ready = -1;      // a file of libfabric's that can be read when there is something to do for `done`

  bool open(Info chosen, size_t transfers, long& error);
  // To be asked before one waits for the file: whether it shows all that is to be done.
  bool may_wait() {
    fid_t queue = &done->fid;
    return fi_trywait(fabric.get(), &queue, 1) == 0;
  }
};

// How the far side names registered memory.
inline uint64_t base_of(const fi_info& info, const void* memory) {
  return (info.domain_attr->mr_mode & FI_MR_VIRT_ADDR) != 0 ? reinterpret_cast<uint64_t>(memory) : 0;
}
inline bool wants_local_registration(const fi_info& info) {
  return (info.domain_attr->mr_mode & FI_MR_LOCAL) != 0;
}

// What the side that connects says first: which connection it was promised, and the ticket that proves it.
struct Opening {
  static constexpr uint32_t kVersion = 1;
  uint32_t version = kVersion;
  uint32_t padding = 0;
  uint64_t connection = 0;
  std::array<uint8_t, 32> ticket{};
};
static_assert(sizeof(Opening) == 48);  // what every provider can carry

// The opening that came with a request to connect, if it is one.
inline bool parse_opening(const void* data, size_t size_bytes, Opening& opening) {
  if (size_bytes < sizeof(Opening)) return false;  // providers may pad
  std::memcpy(&opening, data, sizeof(Opening));
  return opening.version == Opening::kVersion;
}

inline std::string fi_text(long error) { return fi_strerror(static_cast<int>(error < 0 ? -error : error)); }

}  // namespace plat::fabricd
