// SPDX-License-Identifier: Apache-2.0
// Calls that returned an error: which, where, how often. No mistake by themselves: many a program asks and
// then does something else.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "inspect/model/object.h"

namespace plat::inspect {

struct FailedCall {
  Op op{};
  int result = 0;
  Site first;
  uint64_t count = 0;
  uint64_t handled = 0;  // out of memory, and then there was some: the client has a way to make room
};

class FailedCalls {
 public:
  void note(const Event& event);

  // In the order in which they came; those that were handled only if asked for.
  std::vector<FailedCall> list(bool with_handled) const;

  // Beyond that many places nothing new is learnt.
  static constexpr size_t kPlaces = 1000;

 private:
  using Place = std::tuple<Op, int, uint32_t>;
  struct Waiting {
    size_t call;
    uint64_t size;
  };

  std::vector<FailedCall> calls_;
  std::map<Place, size_t> index_;
  std::map<std::pair<uint32_t, Op>, std::vector<Waiting>> waiting_;  // by thread
};

}  // namespace plat::inspect
