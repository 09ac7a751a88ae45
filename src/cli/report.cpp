// SPDX-License-Identifier: Apache-2.0
// plat report: what happened to memory, for people.
#include <fmt/format.h>

#include "cli/cli.h"
#include "cli/frame_options.h"
#include "cli/output_file.h"
#include "cli/page.h"
#include "cli/progress.h"
#include "cli/report_diff.h"
#include "cli/report_view.h"
#include "cli/terminal.h"
#include "inspect/import/open.h"

namespace plat::cli {

const char* const kReportExamples = R"(
Of each process: device memory over time, who held it at the peak (by kind, pool and call stack), what was
allocated most often, how much of that went before anything else came (temporary), and how the heaps and the
reserved ranges are cut up. 'Holes' is the part of the free bytes that the largest free range does not have.

Examples:
  plat report plat.trace               in the terminal
  plat report plat.trace plat.trace.*  of all its processes
  plat report --diff old.trace new.trace
                                       what grew from one run to the other; stacks are the same if their
                                       functions and files are, because lines move
  plat report --html r.html plat.trace the page of plat view
  plat report --json plat.trace        for tools, sizes in bytes
  plat report memscope_dump_1.db       a database of memscope, or snapshot.pickle: a PyTorch memory snapshot
  plat report --rows 30 --frames 8 plat.trace)";

namespace {

struct ReportOptions {
  std::vector<std::string> traces;
  bool json = false;
  bool diff = false;
  std::string html;
  ReportView view;
  inspect::FrameFilter filter;
};

int complain(const std::string& path, const std::string& problem) {
  show(stderr, fmt::format("plat: {}: {}\n", path, problem));
  return kAskedWrongly;
}

// The page of plat view.
int write_page(const ReportOptions& options) {
  if (!can_write(options.html)) return kAskedWrongly;
  std::vector<std::string> packed;
  for (const std::string& path : options.traces) {
    std::string problem;
    auto data = page_data(path, options.filter, inspect::Needs::Nothing, problem);
    if (!data) return complain(path, problem);
    packed.push_back(std::move(*data));
  }
  return write_file(options.html, page_with(packed)) ? kDone : kAskedWrongly;
}

int report(const ReportOptions& options) {
  if (options.diff && options.traces.size() != 2) {
    fmt::print(stderr, "plat: --diff compares two traces: plat report --diff BEFORE AFTER\n");
    return kAskedWrongly;
  }
  if (!options.html.empty()) return write_page(options);
  if (options.diff)
    return report_difference(options.traces[0], options.traces[1], options.filter, options.view,
                             options.json);
  inspect::Json list = inspect::Json::array();
  std::string text;
  for (const std::string& path : options.traces) {
    std::string problem;
    const auto source = inspect::open_any(path, problem);
    Progress progress("reading " + path);
    const auto made =
        source ? inspect::make_report(watched(*source, progress, 4), problem, options.filter) : std::nullopt;
    progress.done();
    if (!made) return complain(path, problem);
    inspect::Symbols symbols(made->info, options.filter);
    if (options.json) {
      list.push_back(report_json(*made, symbols, options.view));
    } else {
      text += (text.empty() ? "" : "\n") + report_text(*made, symbols, options.view);
    }
  }
  show(stdout, options.json ? inspect::to_line(list) + "\n" : text);
  return kDone;
}

}  // namespace

Action add_report(Parser& app, const Program&) {
  auto options = std::make_shared<ReportOptions>();
  app.add_option("trace", options->traces, "Traces of plat record, memory snapshots or memscope databases")
      .type_name("TRACE")
      .required();
  app.add_flag("--json", options->json, "As JSON: a list with one report for each trace");
  app.add_flag("--diff", options->diff, "Two traces: what grew from the first to the second, by call stack");
  app.add_option("--html", options->html, "Write a page for the browser instead")
      .type_name("FILE")
      .excludes("--json");
  app.add_option("--rows", options->view.rows, "Lines of each list (10)")
      .type_name("COUNT")
      .range(0, 1'000'000);
  app.add_option("--frames", options->view.frames, "Frames of each stack (3)")
      .type_name("COUNT")
      .range(0, 1000);
  add_frame_options(app, options->filter);
  return [options] { return report(*options); };
}

}  // namespace plat::cli
