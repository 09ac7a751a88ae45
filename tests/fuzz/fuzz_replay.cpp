// SPDX-License-Identifier: Apache-2.0
// Any bytes as a trace to replay: read without a crash, and what can be read is run by every policy on a
// small device. Inputs that are no recording are tried as the events of one, too.
#include <cstdlib>
#include <string>
#include <vector>

#include "replay/run.h"
#include "unit/inspect/trace_bytes.h"

using namespace plat::replay;

namespace {

constexpr size_t kMostEvents = 5000;

void require(bool kept) {
  if (!kept) std::abort();
}

void replay(const std::string& content) {
  Trace trace;
  std::string why;
  if (!parse_trace(content, trace, why)) {
    require(!why.empty() && trace.events.empty());
    return;
  }
  require(trace.peak_live_bytes != 0 && trace.blocks != 0);
  for (const Event& event : trace.events)
    require(event.block < trace.blocks && event.stream <= trace.streams);
  for (const Use& use : trace.uses)
    require(use.before <= trace.events.size() && use.block < trace.blocks && use.stream != 0);
  if (trace.events.size() > kMostEvents) return;
  for (const char* policy : kPolicies) {
    const Outcome outcome = run_once(trace, policy, uint64_t{64} << 20, -1);
    require(outcome.completed || trace.events.at(outcome.failed_at).allocate);
    require(outcome.counters.reserved_peak <= uint64_t{64} << 20);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  namespace inspect = plat::inspect;
  replay(std::string(data, data + size));
  if (size > inspect::kChunkRoom - 64) return 0;
  const std::vector<uint8_t> events(data, data + size);
  const std::vector<uint8_t> whole =
      inspect::test::trace_of({inspect::test::ChunkBytes().thread(1).raw(events)});
  replay(std::string(whole.begin(), whole.end()));
  return 0;
}
