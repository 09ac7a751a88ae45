// SPDX-License-Identifier: Apache-2.0
#include "cli/view_live.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>

#include "cli/check_traces.h"
#include "cli/cli.h"
#include "cli/live_server.h"
#include "cli/live_trace.h"
#include "cli/page.h"
#include "cli/stop.h"
#include "cli/terminal.h"
#include "os/child.h"
#include "os/environment.h"
#include "os/process.h"

namespace plat::cli {

namespace {

constexpr uint32_t kLookMicroseconds = 500'000;
constexpr uint64_t kSettledNs = 200'000'000;

// A trace that is being written, read as far as it has come. Called by the threads of the server.
class Growing {
 public:
  static std::unique_ptr<Growing> open(const std::string& path, const inspect::FrameFilter& filter,
                                       std::string& problem) {
    const auto source = inspect::source_of_file(path, problem);
    auto reader = source ? inspect::Reader::open(*source, problem) : std::nullopt;
    return reader ? std::make_unique<Growing>(*source, std::move(*reader), filter) : nullptr;
  }
  Growing(inspect::Source source, inspect::Reader reader, inspect::FrameFilter filter)
      : source_(std::move(source)),
        reader_(std::move(reader)),
        symbols_(reader_.info(), filter),
        historian_(reader_.info(), [this](uint32_t stack) { return symbols_.place_of(stack); }),
        filter_(std::move(filter)) {}

  uint64_t read_on() {
    const std::lock_guard lock(mutex_);
    reader_.refresh();
    for (inspect::Event event; reader_.next(event);) historian_.apply(event);
    return reader_.info().events;
  }
  std::string packed() {
    const std::lock_guard lock(mutex_);
    const inspect::History& history = historian_.finish(reader_.info());
    judge(history.end_ns);
    return page_data(history, fmt::format("pid {}", reader_.info().pid), filter_, findings_, failed_calls_,
                     {});
  }

 private:
  // What plat check says so far, from the beginning each time: what threads wrote around a look comes in the
  // wrong order to who reads on. The last moment waits, because who has begun something earlier may tell of
  // it later.
  void judge(uint64_t end_ns) {
    const uint64_t begun_ns = os::monotonic_nanoseconds();
    if (begun_ns < next_ns_ && !reader_.info().ended) return;
    std::string problem;
    if (source_.size_now) source_.size = source_.size_now();
    auto reader = inspect::Reader::open(source_, problem);
    if (!reader) return;
    CheckRequest request;
    if (!reader->info().ended) request.until_ns = end_ns - std::min(end_ns, kSettledNs);
    CheckAnswer answer;
    inspect::Symbols symbols(reader->info(), filter_);
    const auto checker = check_reader(*reader, symbols, request, answer);
    findings_ = checker->findings();
    failed_calls_ = checker->failed_calls();
    // Of a long trace it takes a while: most of the time is for others.
    next_ns_ = os::monotonic_nanoseconds() + (os::monotonic_nanoseconds() - begun_ns) * 4;
  }

  std::mutex mutex_;
  inspect::Source source_;
  std::vector<inspect::Finding> findings_;
  std::vector<inspect::FailedCall> failed_calls_;
  uint64_t next_ns_ = 0;  // when they are looked for again
  inspect::Reader reader_;
  inspect::Symbols symbols_;
  inspect::Historian historian_;
  inspect::FrameFilter filter_;
};

int cannot_show(int pid, const std::string& problem) {
  show(stderr, fmt::format("plat: cannot show pid {}: {}\n", pid, problem));
  return kBadNews;
}

}  // namespace

void open_in_browser(const std::string& what) {
  const auto is_set = [](const char* name) { return !os::variable(name).value_or("").empty(); };
  if (isatty(STDOUT_FILENO) != 1 || !(is_set("DISPLAY") || is_set("WAYLAND_DISPLAY"))) return;
  std::fflush(stdout);
  int error = 0;
  // By itself, because a browser that it starts lives on.
  os::run_child({"setsid", "--fork", "xdg-open", what}, {}, error);
}

int view_live(const LiveViewOptions& options) {
  keep_stop_signals();
  std::string problem;
  std::string trace = Attachment::is_abandoned(options.pid) ? "" : trace_of_process(options.pid);
  std::unique_ptr<LiveTrace> live;
  if (trace.empty()) {
    live = LiveTrace::begin(options.pid, options.wait_s, should_stop, problem);
    if (!live)
      return cannot_show(options.pid, problem + "; 'plat record -- PROGRAM' starts one with the recorder");
    trace = live->path();
  }
  const auto growing = Growing::open(trace, options.filter, problem);
  if (!growing) return cannot_show(options.pid, problem);
  const auto server =
      LiveServer::start({live_page, [&] { return growing->packed(); }, [&] { return growing->read_on(); }},
                        options.port, problem);
  if (!server) return cannot_show(options.pid, problem);
  server->announce();
  show(stdout, fmt::format("{}\n", server->address()));
  std::fflush(stdout);
  if (options.open) open_in_browser(server->address());
  while (!should_stop() && os::start_time_of(options.pid) != 0) {
    os::sleep_microseconds(kLookMicroseconds);
    server->announce();
  }
  if (!should_stop()) server->end();
  return kDone;
}

}  // namespace plat::cli
