// SPDX-License-Identifier: Apache-2.0
#include "cli/report_diff.h"

#include <fmt/format.h>

#include <optional>

#include "base/text.h"
#include "cli/cli.h"
#include "cli/progress.h"
#include "cli/terminal.h"
#include "inspect/import/open.h"
#include "inspect/report/difference.h"

namespace plat::cli {

namespace {

using inspect::Change;
using inspect::Json;
using inspect::Which;

// A run with names for its stacks.
struct Run {
  Run(inspect::History told, const inspect::FrameFilter& filter)
      : history(std::move(told)), symbols(history.info, filter), stacks(symbols) {}
  inspect::History history;
  inspect::Symbols symbols;
  inspect::NamedStacks stacks;
};

std::unique_ptr<Run> read(const std::string& path, const inspect::FrameFilter& filter) {
  std::string problem;
  const auto source = inspect::open_any(path, problem);
  Progress progress("reading " + path);
  auto history = source
                     ? inspect::read_history(watched(*source, progress, 2), problem, inspect::Needs::Nothing)
                     : std::nullopt;
  progress.done();
  if (!history) show(stderr, fmt::format("plat: {}: {}\n", path, problem));
  return history ? std::make_unique<Run>(std::move(*history), filter) : nullptr;
}

std::string signed_bytes(int64_t bytes) {
  return (bytes < 0 ? "-" : "+") + format_bytes(static_cast<uint64_t>(std::llabs(bytes)));
}

std::string line_of(const char* what, uint64_t before, uint64_t after) {
  return fmt::format("{:<22} {:>12} {:>12} {:>12}\n", what, format_bytes(before), format_bytes(after),
                     signed_bytes(static_cast<int64_t>(after) - static_cast<int64_t>(before)));
}

void add_changes(std::string& text, const char* title, const std::vector<Change>& list,
                 const ReportView& view) {
  text += fmt::format("\n{}\n", title);
  for (size_t i = 0; i < list.size() && i < view.rows; ++i) {
    const Change& change = list[i];
    text += fmt::format("  {:>11}  from {} in {} to {} in {}\n", signed_bytes(change.grown()),
                        format_bytes(change.before_bytes), change.before_count,
                        format_bytes(change.after_bytes), change.after_count);
    for (size_t frame = 0; frame < change.frames.size() && frame < view.frames; ++frame)
      text += fmt::format("               #{} {}\n", frame, visible(change.frames[frame]));
  }
  if (list.empty()) text += "  nothing\n";
  if (list.size() > view.rows) text += fmt::format("  ... and {} more (--rows)\n", list.size() - view.rows);
}

Json to_json(const std::vector<Change>& list, const ReportView& view) {
  Json rows = Json::array();
  for (size_t i = 0; i < list.size() && i < view.rows; ++i)
    rows.push_back({{"grown_bytes", list[i].grown()},
                    {"before_bytes", list[i].before_bytes},
                    {"before_count", list[i].before_count},
                    {"after_bytes", list[i].after_bytes},
                    {"after_count", list[i].after_count},
                    {"stack", list[i].frames}});
  return rows;
}

}  // namespace

int report_difference(const std::string& before_path, const std::string& after_path,
                      const inspect::FrameFilter& filter, const ReportView& view, bool json) {
  const auto before = read(before_path, filter), after = before ? read(after_path, filter) : nullptr;
  if (!before || !after) return kAskedWrongly;
  const auto compared = [&](Which which) {
    return inspect::changes(before->history, before->stacks, after->history, after->stacks, which);
  };
  const inspect::History &was = before->history, &is = after->history;
  if (json) {
    show(stdout,
         inspect::to_line(Json{
             {"before",
              {{"trace", before_path}, {"peak_bytes", was.peak_bytes}, {"live_bytes", was.live_bytes}}},
             {"after", {{"trace", after_path}, {"peak_bytes", is.peak_bytes}, {"live_bytes", is.live_bytes}}},
             {"at_peak", to_json(compared(Which::AtPeak), view)},
             {"at_end", to_json(compared(Which::AtEnd), view)}}) +
             "\n");
    return kDone;
  }
  std::string text =
      fmt::format("{:<22} {:>12} {:>12} {:>12}\n", "device memory", "before", "after", "grown");
  text += line_of("at the peak", was.peak_bytes, is.peak_bytes) +
          line_of("at the end", was.live_bytes, is.live_bytes);
  add_changes(text, "What changed at the peak, by call stack", compared(Which::AtPeak), view);
  add_changes(text, "What changed of what was left at the end", compared(Which::AtEnd), view);
  show(stdout, text);
  return kDone;
}

}  // namespace plat::cli
