// SPDX-License-Identifier: Apache-2.0
#include "inspect/check/finding.h"

namespace plat::inspect {

Related Related::of(std::string role, const Object& object) {
  return {std::move(role), object.kind, object.start, object.size, object.title(), object.born, object.died};
}

Likeness Finding::likeness() const {
  return {rule,       site.op,        writes,
          site.stack, related.size(), related.empty() ? 0 : related.front().born.stack};
}

}  // namespace plat::inspect
