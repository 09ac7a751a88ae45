// SPDX-License-Identifier: Apache-2.0
// plat check: what a program does wrong with memory.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "base/text.h"
#include "cli/check_traces.h"
#include "cli/cli.h"
#include "cli/frame_options.h"
#include "cli/inspect_run.h"
#include "cli/output_file.h"
#include "cli/stop.h"
#include "cli/terminal.h"
#include "os/file.h"

namespace plat::cli {

const char* const kCheckExamples = R"(
Finds accesses outside of blocks, into padding, neighbours, freed and reused memory; reads of bytes that were
never written; streams and the host on the same bytes without an order; work that is not ordered with the
allocation or the free of its memory; leaks; misuse of mstx; and documented rules that the device lets pass.
Exit code: that of --error-exitcode (1) if an error was found, otherwise the program's own. Warnings do not
count, unless --strict.

Examples:
  plat check -- ./a.out                        run it and look
  plat check plat.trace                        look at what plat record wrote
  plat check --json -- ./a.out                 findings as JSON, one a line
  plat check --junit out.xml --sarif out.sarif -- ./a.out
                                               for CI
  plat check --suppressions known.txt -- ./a.out
                                               leave out what is known: lines 'RULE FRAME-PATTERN...'
  plat check --max-peak 2GiB --max-live 0 -- ./a.out
                                               a budget of device memory
  plat check --no-unwritten -- ./train         kernels write memory that no call shows)";

namespace {

struct CheckOptions {
  CheckRequest request;
  RecordOptions record;
  std::vector<std::string> traces;
  bool json = false;
  bool strict = false;
  bool quiet = false;
  bool print_suppressions = false;
  size_t frames = 8;
  size_t limit = 100;
  int error_exitcode = kBadNews;
  std::string junit, sarif, suppressions, log_file;
};

std::string as_text(const CheckOptions& options, const CheckAnswer& answer) {
  std::string text;
  size_t shown = 0;
  for (const inspect::Json& finding : answer.findings) {
    if (++shown > options.limit) break;
    text += inspect::to_text(finding, options.frames);
    if (answer.traces > 1) text += fmt::format("  In process {}.\n", inspect::process_of(finding));
    text += "\n";
  }
  if (shown > options.limit)
    text += fmt::format("... and {} more (--limit)\n", answer.findings.size() - options.limit);
  for (size_t i = 0; i < answer.failed_calls.size() && i < options.limit; ++i)
    text += inspect::failed_call_text(answer.failed_calls[i], std::min<size_t>(options.frames, 3));
  if (answer.failed_calls.size() > options.limit)
    text +=
        fmt::format("... and {} more failed calls (--limit)\n", answer.failed_calls.size() - options.limit);
  for (const std::string& note : answer.notes) text += fmt::format("note: {}\n", note);
  text += fmt::format("plat check: {} error{}, {} warning{}", answer.errors, answer.errors == 1 ? "" : "s",
                      answer.warnings, answer.warnings == 1 ? "" : "s");
  if (answer.suppressed > 0) text += fmt::format(", {} suppressed", answer.suppressed);
  text += fmt::format("; {} events, peak {} of device memory, {} at the end\n", answer.events,
                      format_bytes(answer.peak_bytes), format_bytes(answer.live_bytes));
  return text;
}

// What was checked, as CI names it.
std::string test_of(const CheckOptions& options) {
  return fmt::format(
      "{}", fmt::join(options.record.command.empty() ? options.traces : options.record.command, " "));
}

int tell(const CheckOptions& options, const CheckAnswer& answer) {
  std::string text;
  if (options.json) {
    for (const auto* list : {&answer.findings, &answer.failed_calls})
      for (const inspect::Json& one : *list) text += inspect::to_line(one) + "\n";
    for (const std::string& note : answer.notes) show(stderr, fmt::format("plat: note: {}\n", note));
  } else if (!options.quiet || answer.errors > 0 || answer.warnings > 0) {
    text = as_text(options, answer);
  }
  if (options.print_suppressions)
    for (const inspect::Json& finding : answer.findings) text += inspect::suppression_for(finding) + "\n";
  // The program may be speaking on stdout; a check that ran it stays out of its way.
  if (!options.log_file.empty() && !write_file(options.log_file, text)) {
    show(stderr, text);  // better there than lost
    return kAskedWrongly;
  }
  if (options.log_file.empty()) {
    show(options.traces.empty() && !options.json ? stderr : stdout, text);
    std::fflush(stdout);  // we may end as the program did, at once
  }
  if (!options.junit.empty() &&
      !write_file(options.junit, inspect::to_junit(answer.findings, test_of(options))))
    return kAskedWrongly;
  if (!options.sarif.empty() && !write_file(options.sarif, inspect::to_sarif(answer.findings, PLAT_VERSION)))
    return kAskedWrongly;
  return answer.errors > 0 || (options.strict && answer.warnings > 0) ? options.error_exitcode : kDone;
}

// Runs the program, looks at the traces, and removes them.
int check_program(CheckOptions& options) {
  std::string directory = (std::filesystem::temp_directory_path() / "plat-check-XXXXXX").string();
  if (mkdtemp(directory.data()) == nullptr) {
    fmt::print(stderr, "plat: cannot make a directory for the trace in {}\n", directory);
    return kAskedWrongly;
  }
  options.record.trace = directory + "/trace";
  int error = 0;
  const os::Ending ending = run_recorded(options.record, error);
  CheckAnswer answer;
  if (error == 0) {
    options.request.ended_by_itself = ending.signal == 0;
    keep_stop_signals();  // until the traces are gone
    for (const std::string& trace : traces_of(options.record.trace))
      check_trace(trace, options.request, answer);
    if (ending.signal != 0)
      answer.notes.push_back(
          fmt::format("the program was ended by signal {}; what it still held is no leak", ending.signal));
    if (answer.traces == 0) answer.notes.push_back("the program made no ACL or mstx call");
  }
  std::error_code ignored;
  std::filesystem::remove_all(directory, ignored);
  end_if_stopped();
  if (error != 0) return complain_about_program(options.record.command.front(), error);
  finish_check(options.request, answer);
  if (const int verdict = tell(options, answer); verdict != kDone) return verdict;
  os::end_like(ending);
}

int check(CheckOptions& options) {
  if (!options.suppressions.empty()) {
    const auto text = os::read_small_file(options.suppressions);
    const size_t wrong = text ? options.request.suppressions.add(*text) : 0;
    if (!text || wrong != 0) {
      fmt::print(stderr, "plat: {}{}\n", options.suppressions,
                 text ? fmt::format(":{}: no rule has such a name", wrong) : std::string(": cannot be read"));
      return kAskedWrongly;
    }
  }
  if (options.traces.empty() == options.record.command.empty()) {
    fmt::print(stderr,
               "plat: check what? 'plat check -- PROGRAM ARGUMENTS' or 'plat check TRACE'\n"
               "'plat check --help' shows what can be asked, with examples.\n");
    return kAskedWrongly;
  }
  for (const std::string& file : {options.log_file, options.junit, options.sarif})
    if (!file.empty() && !can_write(file)) return kAskedWrongly;
  if (options.traces.empty()) return check_program(options);
  CheckAnswer answer;
  for (const std::string& trace : options.traces)
    if (!check_trace(trace, options.request, answer)) return kAskedWrongly;
  finish_check(options.request, answer);
  return tell(options, answer);
}

void add_size(Parser& app, const char* name, const char* meaning, std::function<void(uint64_t)> set) {
  app.add_option(
         name,
         [set = std::move(set)](const std::string& text) {
           const auto bytes = parse_bytes(text);
           if (!bytes) throw BadValue("is a size, such as 512MiB");
           set(*bytes);
         },
         meaning)
      .type_name("SIZE");
}

}  // namespace

Action add_check(Parser& app, const Program& program) {
  auto options = std::make_shared<CheckOptions>();
  options->record.command = program;
  options->record.stacks = "unwind";
  auto& request = options->request;
  app.add_option("trace", options->traces, "Traces of plat record, instead of a program").type_name("TRACE");
  app.add_flag("--json", options->json, "Findings as JSON, one a line");
  app.add_option("--junit", options->junit, "Also write them as JUnit XML").type_name("FILE");
  app.add_option("--sarif", options->sarif, "Also write them as SARIF").type_name("FILE");
  app.add_option("--log-file", options->log_file, "Write the findings there instead").type_name("FILE");
  app.add_option("--error-exitcode", options->error_exitcode, "The exit code if there are errors (1)")
      .range(0, 255);
  app.add_flag("--strict", options->strict, "Warnings count as errors");
  app.add_flag("-q,--quiet", options->quiet, "Say nothing if nothing was found");
  app.add_option("--suppressions", options->suppressions, "Leave out the findings that this file lists")
      .type_name("FILE");
  app.add_flag("--print-suppressions", options->print_suppressions,
               "Also print a line that would suppress each");
  app.add_flag("--no-unwritten{false},--unwritten", request.options.unwritten,
               "Do not look at bytes that were never written");
  app.add_flag("--no-races{false},--races", request.options.races,
               "Do not look for accesses to the same bytes that nothing orders");
  app.add_flag("--no-leaks{false},--leaks", request.options.leaks, "Do not look at what is left");
  app.add_flag("--no-failed-calls{false},--failed-calls", request.failed_calls,
               "Do not list calls that returned an error");
  app.add_flag("--no-warnings{false},--warnings", request.options.warnings, "Errors only");
  app.add_flag("--pedantic", request.options.pedantic,
               "Also look at how pools cut their blocks, at old rules, and at calls that are known to fail");
  add_size(app, "--max-peak", "The most device memory that may live at once",
           [options](uint64_t bytes) { options->request.options.max_peak = bytes; });
  add_size(app, "--max-live", "The most that may be left at the end", [options](uint64_t bytes) {
    options->request.options.max_live = bytes;
    options->request.options.has_max_live = true;
  });
  app.add_option("--stacks", options->record.stacks, "How call stacks are taken (unwind)")
      .one_of({"fp", "unwind", "none"});
  app.add_option("--frames", options->frames, "How much of a stack is shown (8)")
      .type_name("COUNT")
      .range(0, 1000);
  add_frame_options(app, request.frames);
  app.add_option("--limit", options->limit, "How many findings are shown (100)")
      .type_name("COUNT")
      .range(0, 1'000'000);
  app.description("Run a program, or look at a trace, and say what is wrong with its use of memory");
  return [options] { return check(*options); };
}

}  // namespace plat::cli
