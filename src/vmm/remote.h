// SPDX-License-Identifier: Apache-2.0
// Remote: memory of another server that this process has imported. Its end is the end of the import.
//
// There are no pages of it here: bytes are fetched and sent piece by piece. Who reads or writes keeps the
// mapping, and with it the import. Called under no lock; takes as long as the network does.
#pragma once

#include <cstddef>
#include <functional>

#include "acl/acl_rt.h"
#include "base/result.h"

namespace plat::vmm {

class Remote {
 public:
  virtual ~Remote() = default;

  // Makes the piece that begins so many bytes behind the beginning of what is written.
  using Source = std::function<Result<>(std::byte* piece, uint64_t size_bytes, uint64_t at)>;
  virtual Result<> write(uint64_t offset, uint64_t size_bytes, const Source& source) const = 0;
  using Sink = std::function<Result<>(const std::byte* piece, uint64_t size_bytes, uint64_t at)>;
  virtual Result<> read(uint64_t offset, uint64_t size_bytes, const Sink& sink) const = 0;

  struct Properties {  // as the exporter asked for it
    aclrtMemAttr attribute{};
    aclrtMemLocationType location{};
    uint32_t location_id = 0;  // of the exporter's server
  };
  virtual Properties properties() const = 0;
  virtual uint32_t server() const = 0;
};

}  // namespace plat::vmm
