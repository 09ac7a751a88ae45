// SPDX-License-Identifier: Apache-2.0
// Any bytes as a recording of another tool (a snapshot, pickled or in JSON, or a database): read or refused
// with a reason, and what can be read becomes a trace that the readers of traces take whole.
#include <cstdlib>
#include <string>

#include "inspect/check/checker.h"
#include "inspect/import/imported.h"
#include "inspect/report/report.h"

using namespace plat::inspect;

namespace {

constexpr size_t kMostBytes = 1 << 16;
constexpr size_t kMostSteps = 20000;

void require(bool kept) {
  if (!kept) std::abort();
}

uint64_t births_of(const Imported& imported) {
  uint64_t births = 0;
  for (const ImportedStep& step : imported.steps) {
    require(step.stack == 0 || step.stack < imported.stacks.size());
    require(step.life < (step.what == ImportedStep::Mark ? imported.marks.size() : imported.lives.size()));
    if (step.what == ImportedStep::Birth) ++births;
  }
  return births;
}

void read_back(const std::string& trace) {
  std::string problem;
  const Source source = source_of_bytes(reinterpret_cast<const uint8_t*>(trace.data()), trace.size());
  auto reader = Reader::open(source, problem);
  require(reader && reader->info().damaged == 0 && !reader->info().cut_off);
  Checker checker(CheckOptions{});
  for (Event event; reader->next(event);) checker.apply(event);
  checker.finish();
  require(make_report(source, problem).has_value());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > kMostBytes) return 0;
  const std::string content(data, data + size);
  if (!is_importable(content)) return 0;
  std::string why;
  const auto imported = read_import(content, why);
  require(imported.has_value() || !why.empty());
  if (!imported || imported->steps.size() > kMostSteps) return 0;
  require(births_of(*imported) == imported->lives.size());
  read_back(to_trace(*imported, "a snapshot"));
  return 0;
}
