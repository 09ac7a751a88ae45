// SPDX-License-Identifier: Apache-2.0
#include "rules/probes.h"

#include <algorithm>
#include <iterator>

namespace plat::rules {

namespace {

struct Probe {
  RuleId rule;
  std::string_view function;  // empty: any
};
constexpr Probe kProbes[] = {
    {RuleId::InitRepeated, ""},
    {RuleId::FinalizeRepeated, ""},
    {RuleId::NoContext, "aclrtGetDevice"},
    {RuleId::NoContext, "aclrtGetCurrentContext"},
};

}  // namespace

bool is_known_probe(RuleId rule, std::string_view function) {
  return std::any_of(std::begin(kProbes), std::end(kProbes), [&](const Probe& probe) {
    return probe.rule == rule && (probe.function.empty() || probe.function == function);
  });
}

}  // namespace plat::rules
