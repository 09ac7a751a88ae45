// SPDX-License-Identifier: Apache-2.0
#include "inspect/check/finding.h"

namespace plat::inspect {

Related Related::of(std::string role, const Object& object) {
  return {std::move(role), object.kind, object.start, object.size, object.title(), object.born, object.died};
}

bool Finding::is_like(const Finding& other) const {
  if (rule != other.rule || site.stack != other.site.stack || site.op != other.site.op ||
      writes != other.writes || related.size() != other.related.size())
    return false;
  // Without stacks there is only the text to tell two places apart. What is left is still one thing a call.
  if (site.stack == 0 && !is_leak && detail != other.detail) return false;
  return related.empty() || related.front().born.stack == other.related.front().born.stack;
}

}  // namespace plat::inspect
