// SPDX-License-Identifier: Apache-2.0
// What a model tells whoever listens.
#pragma once

#include <string>

#include "inspect/model/object.h"
#include "rules/rules.h"

namespace plat::inspect {

// A range that a call reads or writes.
struct Access {
  const Event& event;
  bool write = false;
  uint64_t address = 0;
  uint64_t size = 0;
  bool on_device = false;  // it must be memory of the device
  bool for_host = false;   // a read whose bytes the host gets to see
  bool asynchronous = false;
  uint32_t actor = Order::kHost;
  uint64_t stream = 0;
  Position position{};   // among the operations of the actor; none if the call failed
  uint64_t rows = 1;     // of a two-dimensional copy: `size` spans all of them
  uint64_t pitch = 0;    // from row to row
  uint64_t width = 0;    // of a row
  bool signals = false;  // waits for or sets a value that streams order themselves by

  uint64_t row_size() const { return rows == 1 ? size : width; }
};

struct Problem {
  RuleId rule{};
  const Event& event;
  std::string detail;
  ObjectId object = 0;
  ObjectId other = 0;
  uint64_t address = 0;
  uint64_t size = 0;
};

class Listener {
 public:
  virtual ~Listener() = default;
  virtual void access(const Access&) {}
  virtual void problem(Problem&&) {}
  virtual void born(const Object&) {}
  virtual void died(const Object&) {}
  // Taken back by the device because the program reset it or ended its use.
  virtual void dropped(const Object&, const Event&) {}
  virtual void event(const Event&) {}
};

}  // namespace plat::inspect
