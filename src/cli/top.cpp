// SPDX-License-Identifier: Apache-2.0
// plat top: memory as it is now, again and again.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <sstream>

#include "base/text.h"
#include "cli/attach.h"
#include "cli/cli.h"
#include "cli/frame_options.h"
#include "cli/info_view.h"
#include "cli/live_trace.h"
#include "cli/report_view.h"
#include "cli/screen.h"
#include "cli/settings.h"
#include "cli/stop.h"
#include "cli/terminal.h"
#include "cli/top_view.h"
#include "os/process.h"

namespace plat::cli {

const char* const kTopExamples = R"(
Of every process on the machine: how much of each device it holds. That needs nothing of the process.
--pid looks inside one: who in it holds what. Of a process that plat record has started that is everything. Into
another one the recorder is let in by the mstx broker, Plat's libms_tools_ext.so, at the program's next mstx call;
then heaps, regions and marks are seen, and calls of the device are not. Of what lived before, the broker knows
what it was asked to remember (PLAT_MSTX_REMEMBER=1).

On a terminal: q ends it, s sorts by bytes, growth, count or births, arrows, page keys, g and G scroll.

Examples:
  plat top                     devices and processes, every second
  plat top --pid 4711          also what happens inside this one: pools, and who holds what
  plat top plat.trace          the same, by its trace
  plat top --once --json       one look, for scripts)";

namespace {

struct TopOptions {
  std::string trace;
  int pid = 0;
  std::string node;
  bool once = false;
  bool json = false;
  double interval_s = 1;
  double wait_s = 10;
  ReportView view{.rows = 8, .frames = 2, .live = true};
  inspect::FrameFilter filter;
};

std::string devices_text(const MachineView& machine, FabricRates& rates) {
  std::string text = fmt::format("Software device, no NPU. Machine '{}'.\n\n{:<8} {:>12} {:>12}  processes\n",
                                 machine.config.node, "device", "capacity", "used");
  for (const DeviceLine& line : machine.lines) {
    const device::DeviceView& view = line.seen.view;
    if (line.seen.state != device::ObserveState::Live) continue;
    text += fmt::format("{:<8} {:>12} {:>12}  {}\n", line.is_host ? "host" : std::to_string(line.number),
                        format_bytes(view.capacity_bytes),
                        format_bytes(view.capacity_bytes - view.free_bytes), view.holders.size());
    for (const device::Holder& holder : view.holders)
      text += fmt::format("{:>21} {:>12}  {} in {} block{}\n", holder.pid, format_bytes(holder.bytes),
                          visible(holder.name), holder.blocks, holder.blocks == 1 ? "" : "s");
    text += remote_holders_text(machine.fabric, device_name(line), std::string(36, ' '));
  }
  return text + fabric_section(machine.fabric, rates.update(machine.fabric, os::monotonic_nanoseconds()));
}

inspect::Json devices_json(const MachineView& machine) {
  inspect::Json list = inspect::Json::array();
  for (const DeviceLine& line : machine.lines) {
    const device::DeviceView& view = line.seen.view;
    if (line.seen.state != device::ObserveState::Live) continue;
    inspect::Json one{{"device", device_name(line)},
                      {"capacity_bytes", view.capacity_bytes},
                      {"used_bytes", view.capacity_bytes - view.free_bytes}};
    one["processes"] = inspect::Json::array();
    for (const device::Holder& holder : view.holders)
      one["processes"].push_back(
          {{"pid", holder.pid}, {"name", holder.name}, {"bytes", holder.bytes}, {"blocks", holder.blocks}});
    list.push_back(std::move(one));
  }
  return list;
}

// The inside of the process, if it is asked for; false if its trace cannot be
// read.
bool open_inside(const TopOptions& options, std::unique_ptr<inspect::LiveReport>& inside) {
  if (options.trace.empty()) return true;
  std::string problem;
  if (const auto source = inspect::source_of_file(options.trace, problem))
    inside = inspect::LiveReport::open(*source, problem, options.filter);
  if (!inside) show(stderr, fmt::format("plat: {}: {}\n", options.trace, problem));
  return inside != nullptr;
}

// What there is now.
std::string text_of_now(const TopOptions& options, const device::Config& config, inspect::LiveReport* inside,
                        FabricRates& rates) {
  const MachineView machine = view_machine(config);
  const inspect::Report* const report = inside != nullptr ? &inside->update() : nullptr;
  if (options.json) {
    inspect::Json json{{"devices", devices_json(machine)}};
    if (!machine.fabric.is_null()) json["fabric"] = machine.fabric;
    if (report != nullptr) {
      inspect::Symbols symbols(report->info, options.filter);
      json["process"] = report_json(*report, symbols, options.view);
    }
    return inspect::to_line(json) + "\n";
  }
  std::string shown = devices_text(machine, rates);
  if (report != nullptr) {
    inspect::Symbols symbols(report->info, options.filter);
    shown += "\n" + report_text(*report, symbols, options.view);
  }
  return shown;
}

// The same for a screen, line by line.
std::vector<std::string> lines_of_now(const TopOptions& options, const device::Config& config,
                                      inspect::LiveReport* inside, TopView& view, FabricRates& rates) {
  std::vector<std::string> lines;
  std::istringstream text(devices_text(view_machine(config), rates));
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  if (inside == nullptr) return lines;
  const inspect::Report& report = inside->update();
  inspect::Symbols symbols(report.info, options.filter);
  lines.emplace_back();
  for (std::string& line : view.lines(report, symbols)) lines.push_back(std::move(line));
  return lines;
}

// Whether the process that is looked at has ended.
bool has_ended(const TopOptions& options) { return options.pid != 0 && os::start_time_of(options.pid) == 0; }

int watch_on_screen(const TopOptions& options, const device::Config& config, inspect::LiveReport* inside) {
  Screen screen;
  TopView view;
  FabricRates rates;
  size_t first = 0;
  std::vector<std::string> lines = lines_of_now(options, config, inside, view, rates);
  for (uint64_t looked_ns = os::monotonic_nanoseconds(); !should_stop();) {
    first = std::min(first, lines.empty() ? 0 : lines.size() - 1);
    const size_t rows = screen.draw(
        lines, first,
        fmt::format(" line {} of {}; {}q ends, s sorts (by {}), arrows scroll ", first + 1, lines.size(),
                    has_ended(options) ? "the process has ended; " : "", name_of(view.order)));
    const double since_s = static_cast<double>(os::monotonic_nanoseconds() - looked_ns) / 1e9;
    const Pressed pressed = screen.wait(std::max(0.0, options.interval_s - since_s));
    switch (pressed.key) {
      case Key::Quit:
        return kDone;
      case Key::Up:
        first -= std::min<size_t>(first, 1);
        break;
      case Key::Down:
        ++first;
        break;
      case Key::PageUp:
        first -= std::min(first, rows);
        break;
      case Key::PageDown:
        first += rows;
        break;
      case Key::Home:
        first = 0;
        break;
      case Key::End:
        first = lines.size() > rows ? lines.size() - rows : 0;
        break;
      case Key::Other:
        if (pressed.letter == 's') view.order = next_of(view.order);
        [[fallthrough]];
      case Key::None:
        lines = lines_of_now(options, config, inside, view, rates);
        looked_ns = os::monotonic_nanoseconds();
    }
  }
  return kDone;
}

// Finds the trace of the process, or has one written for as long as we look.
// False: it said why not.
bool find_trace(TopOptions& options, std::unique_ptr<LiveTrace>& live) {
  if (!Attachment::is_abandoned(options.pid)) options.trace = trace_of_process(options.pid);
  if (!options.trace.empty()) return true;
  std::string problem;
  live = LiveTrace::begin(options.pid, options.wait_s, should_stop, problem);
  if (live) {
    options.trace = live->path();
    return true;
  }
  fmt::print(stderr, R"(plat: cannot look into pid {}: {}. 'plat top' alone shows what it holds
of each device; 'plat record -- PROGRAM' starts it with the recorder.
)",
             options.pid, problem);
  return false;
}

int watch(TopOptions& options) {
  device::Config config =
      settings_with(options.node.empty() ? std::map<std::string, std::string>{}
                                         : std::map<std::string, std::string>{{"PLAT_NODE", options.node}});
  if (!settings_make_sense(config)) return kAskedWrongly;
  keep_stop_signals();
  std::unique_ptr<LiveTrace> live;
  if (options.pid != 0 && options.trace.empty() && !find_trace(options, live)) return kBadNews;
  std::unique_ptr<inspect::LiveReport> inside;
  if (!open_inside(options, inside)) return kAskedWrongly;
  if (!options.once && !options.json && Screen::is_there())
    return watch_on_screen(options, config, inside.get());
  for (FabricRates rates;;) {
    const std::string shown = text_of_now(options, config, inside.get(), rates);
    if (!options.once && !options.json) fmt::print("\x1b[H\x1b[2J");
    show(stdout, shown);
    std::fflush(stdout);
    if (options.once || should_stop()) return kDone;
    os::sleep_microseconds(static_cast<uint32_t>(options.interval_s * 1e6));
    if (should_stop()) return kDone;
    if (has_ended(options)) options.once = true;  // a last look
  }
}

}  // namespace

Action add_top(Parser& app, const Program&) {
  auto options = std::make_shared<TopOptions>();
  app.add_option("trace", options->trace, "The trace of a process, to look inside it").type_name("TRACE");
  app.add_option("--pid", options->pid, "A process, to look inside it").type_name("PID");
  app.add_option("--node", options->node, "Which machine to look at").type_name("NAME");
  app.add_flag("--once", options->once, "Look once and end");
  app.add_flag("--json", options->json, "As JSON, one line a look");
  app.add_option("--interval", options->interval_s, "Seconds between looks (1)").range(0.05, 3600.0);
  app.add_option("--wait", options->wait_s,
                 "Seconds to wait for an mstx call of a process that is not recorded (10)")
      .range(0.0, 3600.0);
  app.add_option("--rows", options->view.rows, "Lines of each list (8)")
      .type_name("COUNT")
      .range(0, 1'000'000);
  add_frame_options(app, options->filter);
  return [options] { return watch(*options); };
}

}  // namespace plat::cli
