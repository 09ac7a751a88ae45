// plat record: a program, and a trace of what it does with memory.
#include <fmt/format.h>

#include "base/text.h"
#include "cli/cli.h"
#include "cli/inspect_run.h"
#include "inspect/trace/reader.h"
#include "os/file.h"

namespace plat::cli {

const char* const kRecordExamples =
    "\nEvery ACL memory, mapping, copy, stream and event call, and every mstx heap, region, mark and range, "
    "with\n"
    "time, thread, stream, result and call stack. The program runs over the libascendcl.so that it finds, "
    "the\n"
    "vendor's or this one. A process that is killed leaves a trace that ends with its last event. Programs "
    "that it\n"
    "starts write traces of their own, TRACE.PID.\n"
    "\nStacks: 'fp' follows frame pointers and needs code compiled with -fno-omit-frame-pointer; 'unwind' "
    "works with\n"
    "all code and takes some microseconds for each event; 'none' is the fastest.\n"
    "\nExamples:\n"
    "  plat record -- ./train                       writes plat.trace\n"
    "  plat record -o /tmp/t --stacks unwind -- ./a.out\n"
    "  plat check plat.trace                        then: what is wrong?\n"
    "  plat report plat.trace                       or: where does the memory go?";

namespace {

int record(const RecordOptions& options) {
  if (options.command.empty()) {
    fmt::print(stderr, "plat: which program? plat record [OPTIONS] -- PROGRAM ARGUMENTS\n");
    return kAskedWrongly;
  }
  // What an earlier run left would be taken for a part of this one. Other files are not ours to remove.
  for (const std::string& old : traces_of(options.trace)) {
    std::string problem;
    const auto source = inspect::source_of_file(old, problem);
    if (!source || !inspect::Reader::open(*source, problem)) {
      fmt::print(stderr, "plat: {} is there already, and is no trace that could be replaced: {}\n", old,
                 problem);
      return kAskedWrongly;
    }
    os::remove_file(old);
  }
  int error = 0;
  const os::Ending ending = run_recorded(options, error);
  if (error != 0) return complain_about_program(options.command.front(), error);
  const auto traces = traces_of(options.trace);
  for (const std::string& trace : traces) {
    std::string problem;
    const auto source = inspect::source_of_file(trace, problem);
    const auto reader = source ? inspect::Reader::open(*source, problem) : std::nullopt;
    if (!reader) continue;
    fmt::print(stderr, "plat: {}: {} events of pid {} in {}\n", trace, reader->info().events,
               reader->info().pid, format_bytes(reader->info().bytes));
  }
  if (traces.empty()) fmt::print(stderr, "plat: the program made no ACL or mstx call; there is no trace\n");
  os::end_like(ending);
}

}  // namespace

Action add_record(CLI::App& app, const Program& program) {
  auto options = std::make_shared<RecordOptions>();
  options->trace = "plat.trace";
  options->command = program;
  app.add_option("-o,--output", options->trace, "The file to write (plat.trace)")->type_name("TRACE");
  app.add_option("--stacks", options->stacks, "How call stacks are taken (fp)")
      ->check(CLI::IsMember({"fp", "unwind", "none"}));
  app.add_option("--depth", options->depth, "Frames of a stack (32)")->check(CLI::Range(1, 64));
  app.add_option_function<std::string>(
         "--max-size",
         [options](const std::string& text) {
           const auto bytes = parse_bytes(text);
           if (!bytes || *bytes < (1u << 20))
             throw CLI::ValidationError("--max-size", "is a size of at least 1MiB");
           options->max_bytes = *bytes;
         },
         "Where a trace ends, such as 1GiB (4GiB)")
      ->type_name("SIZE");
  app.description("Run a program and write a trace: plat record [OPTIONS] -- PROGRAM ARGUMENTS");
  return [options] { return record(*options); };
}

}  // namespace plat::cli
