// SPDX-License-Identifier: Apache-2.0
// plat report: what happened to memory, for people.
#include <fmt/format.h>

#include "cli/cli.h"
#include "cli/frame_options.h"
#include "cli/output_file.h"
#include "cli/report_view.h"
#include "cli/terminal.h"

namespace plat::cli {

const char* const kReportExamples =
    "\nOf each process: device memory over time, who held it at the peak (by kind, pool and call stack), "
    "what was\n"
    "allocated most often, how much of that went before anything else came (temporary), and how the heaps "
    "and the\n"
    "reserved ranges are cut up. 'Holes' is the part of the free bytes that the largest free range does not "
    "have.\n"
    "\nExamples:\n"
    "  plat report plat.trace               in the terminal\n"
    "  plat report plat.trace plat.trace.*  of all its processes\n"
    "  plat report --html r.html plat.trace a page for the browser: time line, map of memory at the peak, "
    "growth;\n"
    "                                       one file that needs nothing else\n"
    "  plat report --json plat.trace        for tools, sizes in bytes\n"
    "  plat report --rows 30 --frames 8 plat.trace";

namespace {

struct Options {
  std::vector<std::string> traces;
  bool json = false;
  std::string html;
  ReportView view;
  inspect::FrameFilter filter;
};

// A page has room for more than a terminal, and can be folded.
constexpr ReportView kPage{.rows = 200, .frames = 16, .maps = true};

int report(const Options& options) {
  if (!options.html.empty() && !can_write(options.html)) return kAskedWrongly;
  inspect::Json list = inspect::Json::array();
  std::string text;
  for (const std::string& path : options.traces) {
    std::string problem;
    const auto source = inspect::source_of_file(path, problem);
    const auto made = source ? inspect::make_report(*source, problem) : std::nullopt;
    if (!made) {
      show(stderr, fmt::format("plat: {}: {}\n", path, problem));
      return kAskedWrongly;
    }
    inspect::Symbols symbols(made->info, options.filter);
    if (options.json || !options.html.empty()) {
      list.push_back(report_json(*made, symbols, options.json ? options.view : kPage));
    } else {
      text += (text.empty() ? "" : "\n") + report_text(*made, symbols, options.view);
    }
  }
  if (!options.html.empty()) return write_file(options.html, report_html(list)) ? kDone : kAskedWrongly;
  show(stdout, options.json ? inspect::to_line(list) + "\n" : text);
  return kDone;
}

}  // namespace

Action add_report(Parser& app, const Program&) {
  auto options = std::make_shared<Options>();
  app.add_option("trace", options->traces, "Traces of plat record").type_name("TRACE").required();
  app.add_flag("--json", options->json, "As JSON: a list with one report for each trace");
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
