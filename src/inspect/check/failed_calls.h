// SPDX-License-Identifier: Apache-2.0
// Calls that returned an error: which, where, why, how often. No mistake by themselves: many a program asks
// and then does something else.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "inspect/check/breaches.h"
#include "rules/rules.h"

namespace plat::inspect {

struct FailedCall {
  std::string name;
  int result = 0;
  const rules::Rule* rule = nullptr;  // nullptr: the device did not say
  std::string detail;                 // of the first
  Site first;
  uint64_t count = 0;
  uint64_t handled = 0;  // out of memory, and then there was some: the client has a way to make room
  bool is_probe = false;
};

class FailedCalls {
 public:
  // A call that is watched; why it failed, if the device said so.
  void note(const Event& event, const Breach* why);
  // One that is not.
  void note(const Breach& breach);

  // In the order in which they came; those that were handled, and probes that clients are known to make, only
  // if asked for.
  std::vector<FailedCall> list(bool with_probes) const;

  // Beyond that many places nothing new is learnt.
  static constexpr size_t kPlaces = 1000;

 private:
  using Key = std::tuple<std::string, int, const rules::Rule*, uint32_t>;
  struct Waiting {
    size_t call;
    uint64_t size;
  };

  // nullptr: there are too many places.
  FailedCall* count(std::string name, int result, const Site& site, const Breach* why);

  std::vector<FailedCall> calls_;
  std::map<Key, size_t> index_;
  std::map<std::pair<uint32_t, Op>, std::vector<Waiting>> waiting_;  // by thread
};

}  // namespace plat::inspect
