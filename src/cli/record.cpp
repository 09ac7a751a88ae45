// SPDX-License-Identifier: Apache-2.0
// plat record: a program, and a trace of what it does with memory.
#include <fmt/format.h>

#include <filesystem>

#include "base/text.h"
#include "cli/attach.h"
#include "cli/cli.h"
#include "cli/inspect_run.h"
#include "cli/output_file.h"
#include "cli/stop.h"
#include "cli/terminal.h"
#include "inspect/trace/reader.h"
#include "os/file.h"
#include "os/process.h"

namespace plat::cli {

const char* const kRecordExamples = R"(
Every ACL memory, mapping, copy, stream and event call, and every mstx heap, region, mark and range, with
time, thread, stream, result and call stack. The program runs over the libascendcl.so that it finds, the
vendor's or this one. A process that is killed leaves a trace that ends with its last event. Programs that it
starts write traces of their own, TRACE.PID.

Stacks: 'fp' follows frame pointers and needs code compiled with -fno-omit-frame-pointer; 'unwind' works with
all code and takes some microseconds for each event; 'none' is the fastest.

Examples:
  plat record -- ./train                       writes plat.trace
  plat record -o /tmp/t --stacks unwind -- ./a.out
  plat record --pid 4711                       a process that runs, until Ctrl-C: what it tells by mstx, from its
                                               next mstx call on; needs Plat's libms_tools_ext.so in it
  plat check plat.trace                        then: what is wrong?
  plat report plat.trace                       or: where does the memory go?)";

namespace {

// What an earlier run left would be taken for a part of this one. Other files are not ours to remove.
bool make_way(const std::string& trace) {
  for (const std::string& old : traces_of(trace)) {
    std::string problem;
    const auto source = inspect::source_of_file(old, problem);
    if (!source || !inspect::Reader::open(*source, problem)) {
      show(stderr, fmt::format("plat: {} is there already, and is no trace that could be replaced: {}\n", old,
                               problem));
      return false;
    }
    os::remove_file(old);
  }
  return true;
}

// How many traces there are, each with a line about it.
size_t list_traces(const std::string& all) {
  const auto traces = traces_of(all);
  for (const std::string& trace : traces) {
    std::string problem;
    const auto source = inspect::source_of_file(trace, problem);
    const auto reader = source ? inspect::Reader::open(*source, problem) : std::nullopt;
    if (!reader) continue;
    show(stderr, fmt::format("plat: {}: {} events of pid {} in {}\n", trace, reader->info().events,
                             reader->info().pid, format_bytes(reader->info().bytes)));
  }
  return traces.size();
}

int record_running(const RecordOptions& options) {
  std::string problem;
  const auto attachment = Attachment::find(options.pid, problem);
  keep_stop_signals();
  const std::string trace = std::filesystem::absolute(options.trace).string();
  if (!attachment || !attachment->attach(trace, options.stacks, options.wait_s, should_stop, problem)) {
    fmt::print(stderr, "plat: cannot record pid {}: {}\n", options.pid, problem);
    return kBadNews;
  }
  fmt::print(stderr, "plat: recording what pid {} tells by mstx; Ctrl-C ends it\n", options.pid);
  while (!should_stop() && os::start_time_of(options.pid) != 0) os::sleep_microseconds(20'000);
  attachment->detach();
  return list_traces(options.trace) != 0 ? kDone : kBadNews;
}

int record(const RecordOptions& options) {
  if (options.command.empty() == (options.pid == 0)) {
    fmt::print(stderr,
               "plat: record what? plat record [OPTIONS] -- PROGRAM ARGUMENTS, or plat record --pid PID\n");
    return kAskedWrongly;
  }
  if (!make_way(options.trace) || !can_write(options.trace)) return kAskedWrongly;
  if (options.pid != 0) return record_running(options);
  int error = 0;
  const os::Ending ending = run_recorded(options, error);
  if (error != 0) return complain_about_program(options.command.front(), error);
  if (list_traces(options.trace) == 0)
    fmt::print(stderr,
               "plat: there is no trace: the program made no ACL or mstx call, or could not write it\n");
  os::end_like(ending);
}

}  // namespace

Action add_record(Parser& app, const Program& program) {
  auto options = std::make_shared<RecordOptions>();
  options->trace = "plat.trace";
  options->command = program;
  app.add_option("-o,--output", options->trace, "The file to write (plat.trace)").type_name("TRACE");
  app.add_option("--pid", options->pid, "A process that runs, instead of a program").type_name("PID");
  app.add_option("--wait", options->wait_s, "Seconds to wait for its next mstx call (10)").range(0.0, 3600.0);
  app.add_option("--stacks", options->stacks, "How call stacks are taken (fp)")
      .one_of({"fp", "unwind", "none"});
  app.add_option("--depth", options->depth, "Frames of a stack (32)").range(1, 64);
  app.add_option(
         "--max-size",
         [options](const std::string& text) {
           const auto bytes = parse_bytes(text);
           if (!bytes || *bytes < (1u << 20)) throw BadValue("is a size of at least 1MiB");
           options->max_bytes = *bytes;
         },
         "Where a trace ends, such as 1GiB (4GiB)")
      .type_name("SIZE");
  app.description("Run a program, or look into one that runs, and write down what it does with memory");
  return [options] { return record(*options); };
}

}  // namespace plat::cli
