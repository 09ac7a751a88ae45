// SPDX-License-Identifier: Apache-2.0
#include "cli/check_traces.h"

#include <fmt/format.h>

#include "cli/progress.h"
#include "cli/stop.h"
#include "cli/terminal.h"

namespace plat::cli {

namespace {

// Those that the list leaves out, so that nobody looks for them there.
std::string probes_among(const inspect::Checker& checker) {
  uint64_t listed = 0;
  for (const inspect::FailedCall& call : checker.failed_calls()) listed += call.count;
  if (listed >= checker.totals().failed_calls) return "";
  return fmt::format("; {} as clients are known to ask (--pedantic lists them)",
                     checker.totals().failed_calls - listed);
}

void add_notes(const inspect::TraceInfo& info, const inspect::Checker& checker, bool ended,
               CheckAnswer& answer) {
  const inspect::Totals& totals = checker.totals();
  const std::string who = fmt::format("pid {}", info.pid);
  if (info.lost > 0)
    answer.notes.push_back(fmt::format(
        "{}: {} event{} lost, so leaks are not judged, nor races, and other findings may be wrong", who,
        info.lost, info.lost == 1 ? " was" : "s were"));
  if (info.cut_off)
    answer.notes.push_back(fmt::format(
        "{}: the file is cut off, so leaks are not judged, nor races; what came after is unknown", who));
  if (info.damaged > 0)
    answer.notes.push_back(fmt::format("{}: {} chunk{} of the trace {} damaged", who, info.damaged,
                                       info.damaged == 1 ? "" : "s", info.damaged == 1 ? "is" : "are"));
  if (totals.left_out > 0)
    answer.notes.push_back(fmt::format("{}: {} more findings are not told; of each rule the first {} are",
                                       who, totals.left_out, inspect::Checker::kFindingsOfRule));
  if (!ended && info.lost == 0 && !info.cut_off && totals.live_bytes > 0)
    answer.notes.push_back(
        fmt::format("{}: the trace does not reach the program's end, so leaks are not judged", who));
  if (info.mstx_only)
    answer.notes.push_back(
        fmt::format("{}: the recorder was a tool of mstx alone; calls of the device were not seen", who));
  if (!info.foreign_device.empty())
    answer.notes.push_back(
        fmt::format("{}: the device is {}, which is not Plat's: the rules that our device keeps itself "
                    "(`plat rules`, all but INSP-...) are off",
                    who, info.foreign_device));
  if (totals.failed_calls > 0)
    answer.notes.push_back(fmt::format("{}: {} call{} returned an error{}", who, totals.failed_calls,
                                       totals.failed_calls == 1 ? "" : "s", probes_among(checker)));
}

}  // namespace

std::unique_ptr<inspect::Checker> check_reader(inspect::Reader& reader, inspect::Symbols& symbols,
                                               const CheckRequest& request, CheckAnswer& answer) {
  inspect::CheckOptions options = request.options;
  const bool is_whole = reader.info().lost == 0 && !reader.info().cut_off;
  options.ended = (reader.info().ended || request.ended_by_itself) && is_whole;
  options.mstx_only = reader.info().mstx_only;
  options.races &= is_whole;  // a wait may be among what is lost
  options.place_of = [&](uint32_t stack) { return symbols.place_of(stack); };
  auto checker = std::make_unique<inspect::Checker>(options);
  inspect::Event event;
  while (!should_stop() && reader.next(event) && event.time_ns <= request.until_ns) checker->apply(event);
  checker->finish();
  add_notes(reader.info(), *checker, options.ended, answer);
  return checker;
}

bool check_trace(const std::string& path, CheckRequest& request, CheckAnswer& answer) {
  std::string problem;
  const auto source = inspect::source_of_file(path, problem);
  Progress progress("checking " + path);
  auto reader = source ? inspect::Reader::open(watched(*source, progress, 2), problem) : std::nullopt;
  if (!reader) {
    progress.done();
    show(stderr, fmt::format("plat: {}: {}\n", path, problem));
    return false;
  }
  ++answer.traces;
  inspect::Symbols symbols(reader->info(), request.frames);
  const auto found = check_reader(*reader, symbols, request, answer);
  const inspect::Checker& checker = *found;
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
  return true;
}

void finish_check(CheckRequest& request, CheckAnswer& answer) {
  for (const std::string& line : request.suppressions.unused())
    answer.notes.push_back(fmt::format("this suppression covered nothing: {}", line));
}

}  // namespace plat::cli
