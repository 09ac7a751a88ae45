// SPDX-License-Identifier: Apache-2.0
// Answers of another server as a fault plan wants them: late, lost, broken off, or wrong.
//
// What the server is asked for happens; what is disturbed is what this process hears of it, so that the other
// server and everybody else stay sound.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "device/fault.h"
#include "fabric/message.h"
#include "vmm/remote.h"

namespace plat::fabric {

class FaultyAnswer {
 public:
  // The next answer of the server, if the plan has something for it.
  static std::optional<FaultyAnswer> next(uint32_t server, uint32_t deadline_ms);

  using Write = std::function<Result<>(uint64_t size_bytes, const vmm::Remote::Source& source)>;
  using Read = std::function<Result<>(uint64_t size_bytes, const vmm::Remote::Sink& sink)>;
  Result<> write(uint64_t size_bytes, const vmm::Remote::Source& source, const Write& made) const;
  Result<> read(uint64_t size_bytes, const vmm::Remote::Sink& sink, const Read& made) const;
  // Of an import: what is heard of it, if anything is.
  Result<> import(Reply& answer) const;
  // Which clause of the plan it was.
  const std::string& why() const { return what_.why; }

 private:
  FaultyAnswer(fault::Disturbance what, uint32_t server, uint32_t deadline_ms);
  // Waits as long as one would.
  Error late(RuleId rule) const;
  Error broken(RuleId rule, uint64_t done_bytes, uint64_t size_bytes) const;

  fault::Disturbance what_;
  uint32_t server_;
  uint32_t deadline_ms_;
};

}  // namespace plat::fabric
