// SPDX-License-Identifier: Apache-2.0
// plat view: a trace as a page for the browser.
#include <fmt/format.h>

#include <filesystem>

#include "cli/cli.h"
#include "cli/frame_options.h"
#include "cli/output_file.h"
#include "cli/page.h"
#include "cli/terminal.h"
#include "cli/view_live.h"

namespace plat::cli {

const char* const kViewExamples = R"(
One file that needs nothing else, no network either: blocks over time, what pools hold and use, ranges and
marks, streams, flame graphs, the map of addresses at any moment, and the findings of plat check with the
way to their blocks. Several traces are on one page, which then also shows what grew between them.

Examples:
  plat view plat.trace                  write plat.trace.html, and open it if there is a desktop
  plat view -o run.html plat.trace      write it there
  plat view plat.trace plat.trace.*     of all processes of a run
  plat view before.trace after.trace    two runs side by side
  plat view --live --pid 4711           serve the page of a program that runs, on 127.0.0.1 alone; who knows
                                        the address, which is printed, may look. Ends with the program)";

namespace {

struct ViewOptions {
  std::vector<std::string> traces;
  std::string file;
  bool open = true;
  bool live = false;
  LiveViewOptions running;
  inspect::FrameFilter filter;
};

int view(ViewOptions& options) {
  if (options.live != options.traces.empty() || options.live != (options.running.pid > 0)) {
    fmt::print(stderr, "plat: view what? 'plat view TRACE' or 'plat view --live --pid PID'\n");
    return kAskedWrongly;
  }
  if (options.live) {
    options.running.open = options.open;
    options.running.filter = options.filter;
    return view_live(options.running);
  }
  const std::string file = options.file.empty() ? options.traces.front() + ".html" : options.file;
  std::error_code none;
  std::vector<std::string> packed;
  for (const std::string& trace : options.traces) {
    if (std::filesystem::equivalent(trace, file, none))
      return refuse(file, "is a trace itself; name another file with -o");
    std::string problem;
    auto data = page_data(trace, options.filter, inspect::Needs::Anything, problem);
    if (!data) return refuse(trace, problem);
    packed.push_back(std::move(*data));
  }
  if (!can_write(file) || !write_file(file, page_with(packed))) return kAskedWrongly;
  show(stdout, fmt::format("{}\n", file));
  if (options.open) open_in_browser(std::filesystem::absolute(file, none).string());
  return kDone;
}

}  // namespace

Action add_view(Parser& app, const Program&) {
  auto options = std::make_shared<ViewOptions>();
  app.add_option("trace", options->traces, "Traces of plat record, memory snapshots or memscope databases")
      .type_name("TRACE");
  app.add_option("-o,--output", options->file, "The page to write (TRACE.html)").type_name("FILE");
  app.add_flag("--no-open{false},--open", options->open, "Only write it");
  app.add_flag("--live", options->live, "Serve the page of a program that runs, and keep it up to date");
  app.add_option("--pid", options->running.pid, "The process, with --live").type_name("PID");
  app.add_option("--port", options->running.port, "Where to listen on 127.0.0.1; 0 for one that is free (0)")
      .range(0, 65535);
  app.add_option("--wait", options->running.wait_s,
                 "Seconds to wait for an mstx call of a process that is not recorded (10)")
      .range(0.0, 3600.0);
  add_frame_options(app, options->filter);
  return [options] { return view(*options); };
}

}  // namespace plat::cli
