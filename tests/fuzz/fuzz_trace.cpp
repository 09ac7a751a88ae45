// SPDX-License-Identifier: Apache-2.0
// Any bytes as a trace: read, checked and told without a crash. Inputs that are no trace get a header, so
// that most of them get past it.
#include <cstring>
#include <vector>

#include "inspect/check/checker.h"
#include "inspect/check/formatter.h"
#include "unit/inspect/trace_bytes.h"

using namespace plat::inspect;

namespace {

void read_all(const std::vector<uint8_t>& bytes) {
  std::string problem;
  auto reader = Reader::open(source_of_bytes(bytes.data(), bytes.size()), problem);
  if (!reader) return;
  CheckOptions options;
  options.pedantic = true;
  options.max_peak = 4096;
  options.sweep_after = 16;  // often, so that what is forgotten too early shows
  Checker checker(options);
  for (Event event; reader->next(event);) checker.apply(event);
  checker.finish();
  TraceInfo nothing;  // the files that a trace names are not for a fuzzer to open
  Symbols symbols(nothing);
  std::vector<Json> findings;
  for (const Finding& finding : checker.findings()) findings.push_back(to_json(finding, symbols));
  for (const Json& finding : findings) to_text(finding, 4);
  to_sarif(findings, "1");
  to_junit(findings, "t");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > kChunkRoom) return 0;
  const std::vector<uint8_t> bytes(data, data + size);
  read_all(bytes);
  read_all(test::trace_of({test::ChunkBytes().thread(1).raw(bytes)}));
  return 0;
}
