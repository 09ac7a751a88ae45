// SPDX-License-Identifier: Apache-2.0
// plat export: a trace as a file that other tools open.
#include <fmt/format.h>

#include <filesystem>
#include <string_view>

#include "cli/cli.h"
#include "cli/frame_options.h"
#include "cli/output_file.h"
#include "cli/progress.h"
#include "cli/terminal.h"
#include "inspect/export/export.h"
#include "inspect/import/open.h"

namespace plat::cli {

const char* const kExportExamples = R"(
Formats, and what opens them:
  folded      one line a stack with its weight: flamegraph.pl, inferno, speedscope
  speedscope  https://www.speedscope.app: flame graphs of the peak, of all allocations and of what was left
  snapshot    PyTorch's memory snapshot: pytorch.org/memory_viz, MindStudio Insight (name it .pickle), plat replay
  heaptrack   heaptrack_gui and heaptrack_print
  memscope    MindStudio Insight, if it is called memscope_dump_<digits>.db
  perfetto    https://ui.perfetto.dev: blocks, counters, copies, ranges, marks and streams on one axis

Nothing is written if the trace is damaged or holds no allocation.

Examples:
  plat record -o run.trace -- ./program
  plat export speedscope run.trace -o run.speedscope.json
  plat export snapshot run.trace -o run.pickle
  plat export perfetto run.trace -o run.pftrace
  plat export folded run.trace -o peak.folded
  plat export folded --of allocated --by count run.trace -o churn.folded)";

namespace {

using inspect::History;
using inspect::NamedStacks;
using inspect::Weight;
using inspect::Which;

struct ExportOptions {
  std::string format, trace, file;
  std::string of = "peak";
  std::string by = "bytes";
  inspect::FrameFilter filter;
};

struct Format {
  const char* name;
  std::string (*make)(const History& history, NamedStacks& stacks, const ExportOptions& options);
};

Which which_of(const std::string& text) {
  return text == "peak" ? Which::AtPeak : text == "end" ? Which::AtEnd : Which::Allocated;
}

const Format kFormats[] = {
    {"folded",
     [](const History& history, NamedStacks& stacks, const ExportOptions& options) {
       return to_folded(history, stacks, which_of(options.of),
                        options.by == "bytes" ? Weight::Bytes : Weight::Count);
     }},
    {"speedscope", [](const History& history, NamedStacks& stacks,
                      const ExportOptions&) { return to_speedscope(history, stacks); }},
    {"snapshot", [](const History& history, NamedStacks& stacks,
                    const ExportOptions&) { return to_snapshot(history, stacks); }},
    {"heaptrack", [](const History& history, NamedStacks& stacks,
                     const ExportOptions&) { return to_heaptrack(history, stacks); }},
    {"perfetto", [](const History& history, NamedStacks& stacks,
                    const ExportOptions&) { return to_perfetto(history, stacks); }},
    {"memscope", [](const History& history, NamedStacks& stacks,
                    const ExportOptions&) { return to_memscope(history, stacks); }},
};

std::vector<std::string> names() {
  std::vector<std::string> list;
  for (const Format& format : kFormats) list.emplace_back(format.name);
  return list;
}

// Its viewer goes by the name: memscope_dump_<digits>.db, or leaks_dump_.
bool has_memscope_name(const std::string& file) {
  const std::filesystem::path name = std::filesystem::path(file).filename();
  const std::string stem = name.stem();
  const size_t end = stem.find_last_not_of("0123456789") + 1;
  const std::string_view start = std::string_view(stem).substr(0, end);
  return name.extension() == ".db" && end < stem.size() &&
         (start == "memscope_dump_" || start == "leaks_dump_");
}

int export_trace(const ExportOptions& options) {
  std::error_code none;
  if (std::filesystem::equivalent(options.trace, options.file, none))
    return refuse(options.file, "is the trace itself; name another file with -o");
  std::string problem;
  const auto source = inspect::open_any(options.trace, problem);
  Progress progress("reading " + options.trace);
  const auto history = source ? inspect::read_history(watched(*source, progress, 2), problem) : std::nullopt;
  progress.done();
  if (!history) return refuse(options.trace, problem);
  if (!can_write(options.file)) return kAskedWrongly;
  inspect::Symbols symbols(history->info, options.filter);
  NamedStacks stacks(symbols);
  for (const Format& format : kFormats) {
    if (options.format != format.name) continue;
    const std::string made = format.make(*history, stacks, options);
    if (made.empty()) return refuse(options.trace, "has nothing of that kind; nothing was written");
    if (!write_file(options.file, made)) return kAskedWrongly;
    if (options.format == "memscope" && !has_memscope_name(options.file))
      show(stderr,
           fmt::format(
               "plat: MindStudio Insight opens it only under a name such as memscope_dump_1.db, not as {}\n",
               options.file));
    return kDone;
  }
  return kAskedWrongly;
}

}  // namespace

Action add_export(Parser& app, const Program&) {
  auto options = std::make_shared<ExportOptions>();
  app.add_option("format", options->format, "What to write; see below")
      .type_name("FORMAT")
      .required()
      .one_of(names());
  app.add_option("trace", options->trace, "A trace of plat record, a memory snapshot or a memscope database")
      .type_name("TRACE")
      .required();
  app.add_option("-o,--output", options->file, "The file to write").type_name("FILE").required();
  app.add_option("--of", options->of, "folded: memory at the peak, at the end, or all allocated (peak)")
      .type_name("peak|end|allocated")
      .one_of({"peak", "end", "allocated"});
  app.add_option("--by", options->by, "folded: what is counted, bytes or blocks (bytes)")
      .type_name("bytes|count")
      .one_of({"bytes", "count"});
  add_frame_options(app, options->filter);
  return [options] { return export_trace(*options); };
}

}  // namespace plat::cli
