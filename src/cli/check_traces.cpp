// SPDX-License-Identifier: Apache-2.0
#include "cli/check_traces.h"

#include <fmt/format.h>

#include "cli/stop.h"
#include "cli/terminal.h"

namespace plat::cli {

namespace {

void add_notes(const inspect::TraceInfo& info, const inspect::Totals& totals, bool ended,
               CheckAnswer& answer) {
  const std::string who = fmt::format("pid {}", info.pid);
  if (info.lost > 0)
    answer.notes.push_back(
        fmt::format("{}: {} event{} lost, so leaks are not judged and other findings may be wrong", who,
                    info.lost, info.lost == 1 ? " was" : "s were"));
  if (info.damaged > 0)
    answer.notes.push_back(fmt::format("{}: {} chunk{} of the trace damaged", who, info.damaged,
                                       info.damaged == 1 ? " is" : "s are"));
  if (totals.left_out > 0)
    answer.notes.push_back(fmt::format("{}: {} more findings are not told; of each rule the first {} are",
                                       who, totals.left_out, inspect::Checker::kFindingsOfRule));
  if (!ended && info.lost == 0 && totals.live_bytes > 0)
    answer.notes.push_back(
        fmt::format("{}: the trace does not reach the program's end, so leaks are not judged", who));
  if (info.mstx_only)
    answer.notes.push_back(
        fmt::format("{}: the recorder was a tool of mstx alone; calls of the device were not seen", who));
  if (totals.failed_calls > 0)
    answer.notes.push_back(fmt::format("{}: {} call{} returned an error", who, totals.failed_calls,
                                       totals.failed_calls == 1 ? "" : "s"));
}

}  // namespace

bool check_trace(const std::string& path, CheckRequest& request, CheckAnswer& answer) {
  std::string problem;
  const auto source = inspect::source_of_file(path, problem);
  auto reader = source ? inspect::Reader::open(*source, problem) : std::nullopt;
  if (!reader) {
    show(stderr, fmt::format("plat: {}: {}\n", path, problem));
    return false;
  }
  ++answer.traces;
  inspect::CheckOptions options = request.options;
  options.ended = (reader->info().ended || request.ended_by_itself) && reader->info().lost == 0;
  options.mstx_only = reader->info().mstx_only;
  inspect::Checker checker(options);
  inspect::Event event;
  while (!should_stop() && reader->next(event)) checker.apply(event);
  checker.finish();
  inspect::Symbols symbols(reader->info(), request.frames);
  for (inspect::Finding finding : checker.findings()) {
    finding.pid = reader->info().pid;
    finding.program = reader->info().program;
    inspect::Json json = inspect::to_json(finding, symbols);
    if (request.suppressions.covers(json)) {
      ++answer.suppressed;
      continue;
    }
    ++(json["severity"] == "error" ? answer.errors : answer.warnings);
    answer.findings.push_back(std::move(json));
  }
  if (request.failed_calls)
    for (const inspect::FailedCall& call : checker.failed_calls())
      answer.failed_calls.push_back(inspect::to_json(call, symbols));
  const inspect::Totals& totals = checker.totals();
  answer.events += totals.events;
  answer.peak_bytes = std::max(answer.peak_bytes, totals.peak_bytes);
  answer.live_bytes += totals.live_bytes;
  add_notes(reader->info(), totals, options.ended, answer);
  return true;
}

void finish_check(CheckRequest& request, CheckAnswer& answer) {
  for (const std::string& line : request.suppressions.unused())
    answer.notes.push_back(fmt::format("this suppression covered nothing: {}", line));
}

}  // namespace plat::cli
