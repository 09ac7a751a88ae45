// SPDX-License-Identifier: Apache-2.0
// Fault plans from anywhere: each clause makes sense or is a complaint, and a plan can be carried out.
#include <cstdlib>

#include "device/fault.h"

using namespace plat;

namespace {

void require(bool kept) {
  if (!kept) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  auto clauses = fault::parse_plan({reinterpret_cast<const char*>(data), size},
                                   [](const std::string& problem) { require(!problem.empty()); });
  for (fault::Clause& clause : clauses) {
    using fault::Effect;
    using fault::When;
    require(clause.calls.empty() == (clause.effect == Effect::Shrink || clause.of_servers));
    require(clause.when == When::Chance || clause.effect == Effect::Shrink || clause.count > 0);
    require(clause.when != When::Chance || (clause.chance > 0 && clause.chance <= 1));
    require(clause.effect != Effect::Fail || clause.code > 0);
    // Read again, a clause is the same.
    const auto again = fault::parse_plan(clause.text, [](const std::string&) { std::abort(); });
    require(again.size() == 1 && again[0].calls == clause.calls && again[0].count == clause.count &&
            again[0].server == clause.server && again[0].effect == clause.effect);
    if (clause.effect == Effect::Kill) clause.effect = Effect::Fail;               // the fuzzer shall live,
    if (clause.when == When::Chance) clause.when = When::Every, clause.count = 1;  // and not print seeds
  }
  fault::arm(clauses, 1);
  for (int i = 0; i < 20; ++i) {
    fault::begin_call("aclrtMalloc");
    fault::take_delay();
    fault::begin_answer(static_cast<uint32_t>(i));
    (void)fault::allow_allocation(0, uint64_t{1} << 21, uint64_t{1} << 21);
    require(fault::capacity_left(0, 1000) <= 1000);
  }
  return 0;
}
