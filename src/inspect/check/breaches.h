// SPDX-License-Identifier: Apache-2.0
// What the device itself said of a call: the rule that it breaks. It stands in the trace before the call, if
// that is one of those that are watched, and otherwise for it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "inspect/model/object.h"
#include "rules/rules.h"

namespace plat::inspect {

struct Breach {
  const rules::Rule* rule = nullptr;
  int code = 0;  // 0: the device warned, and the call went on
  std::string function;
  std::string detail;  // "offset: offset is 3"
  Site site;

  // Nothing if it is of a rule that is not in the book, or no such text at all.
  static std::optional<Breach> of(const Event& event);
};

class BreachBook {
 public:
  // Something that the device said. What it is told of a call that is not watched comes back at once.
  std::vector<Breach> add(const Event& event);
  // Another event: what was said during that call, with its place.
  std::vector<Breach> during(const Event& event);

 private:
  std::map<uint32_t, std::vector<Breach>> waiting_;  // by thread
};

}  // namespace plat::inspect
