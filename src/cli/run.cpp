// SPDX-License-Identifier: Apache-2.0
// plat run: a program on the software device, with no environment to set up by hand.
#include <fmt/format.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "cli/cli.h"
#include "cli/run_plan.h"
#include "cli/settings.h"
#include "device/machines.h"
#include "os/child.h"

namespace plat::cli {

const char* const kRunExamples = R"(
The program finds libascendcl.so of this installation before any other, and its exit code or the signal that
ends it becomes that of 'plat run'. Options of the program go after '--'.

By default programs share one machine: its devices, its memory, and what they export to each other. A program
that asks for devices of its own kind (--product, --devices, --capacity, --host-capacity) gets a machine to
itself, removed afterwards, unless --node or PLAT_NODE names one.

A fault is 'CALLS, WHEN, WHAT': calls are a name (aclrtMalloc), the beginning of one (aclrtMemcpy*) or a group
(any malloc free reserve release map unmap export import memcpy memset stream event sync); when is nth=N, every=N
or chance=P, with 'once' or 'sticky'; what is fail=CODE, delay=50ms (of the stream, if the call queues work), uce (the
memory that it brings is broken) or kill.
'capacity, after=SIZE, to=SIZE' takes memory away. docs/howto/faults.md tells the rest.

Examples:
  plat run -- ./train --epochs 1               on the common machine: 8 devices of an Atlas A2
  plat run --devices 2 --capacity 1GiB -- ./a.out
                                               two small devices, to meet out-of-memory early
  plat run --product 950 -- ./a.out            how would it fare on an Ascend 950?
  plat run --host-access allow -- ./a.out      let the CPU read and write device addresses
  plat run --rule VMM-Map-whole-handle=error -- ./a.out
                                               take a rule more strictly ('plat rules' lists them)
  plat run --node team -- ./a.out              join the machine 'team', together with others
  plat run --fault 'malloc, nth=3, fail=207001' -- ./a.out
                                               does it survive when the third allocation fails?
  plat run --settings                          every setting, as option, variable and line of a file)";

namespace {

// bin/plat stands in the tree whose library it serves, installed or freshly built.
std::string own_prefix() {
  return std::filesystem::path(os::own_path()).parent_path().parent_path().string();
}

void list_settings() {
  fmt::print(
      "{}\n\n",
      R"(Each setting is an option of 'plat run', an environment variable, or a line 'key = value' of the file that
PLAT_CONFIG (--config) names; the first of these that is there counts.)");
  for (const device::Setting& setting : device::settings())
    fmt::print("{:<16} {:<20} {}\n{:<16} {}\n", setting.key, variable_name(setting.key), setting.form, "",
               setting.meaning);
  fmt::print("\nVariables of the recorder, of mstx, of pools and of tests, by the environment alone:\n\n");
  for (const device::Variable& variable : device::other_variables())
    fmt::print("{:<25} {}\n{:<25} {}\n", variable.name, variable.form, "", variable.meaning);
  fmt::print(
      "\nASCEND_RT_VISIBLE_DEVICES (--visible) hides and renumbers devices, as with the vendor's library.\n");
}

void remove_own_machine(const RunPlan& plan) {
  for (const device::Machine& machine : device::find_machines(plan.config.directory))
    if (machine.node == plan.own_node) device::remove_machine(plan.config.directory, machine, false);
}

int complain_about(const std::string& program, int error) {
  fmt::print(stderr, "plat: {}: {}\n", program,
             error == ENOENT ? "there is no such program" : std::strerror(error));
  return error == ENOENT ? 127 : 126;  // as a shell says it
}

int run(const RunOptions& options) {
  if (options.list_settings) {
    list_settings();
    return kDone;
  }
  if (options.command.empty()) {
    fmt::print(
        stderr,
        "plat: which program? Put it after the options: plat run --capacity 1GiB -- ./program its arguments\n"
        "'plat run --help' shows what can be asked, with examples.\n");
    return kAskedWrongly;
  }
  const RunPlan plan = plan_run(options, own_prefix(), os::this_process());
  if (!settings_make_sense(plan.config)) return kAskedWrongly;
  if (!plan.problem.empty()) {
    fmt::print(stderr, "plat: {}\n", plan.problem);
    return kAskedWrongly;
  }
  if (plan.own_node.empty())
    return complain_about(options.command.front(), os::become(options.command, plan.variables));
  int error = 0;
  const os::Ending ending = os::run_child(options.command, plan.variables, error);
  remove_own_machine(plan);
  if (error != 0) return complain_about(options.command.front(), error);
  os::end_like(ending);
}

}  // namespace

Action add_run(Parser& app, const Program& program) {
  auto options = std::make_shared<RunOptions>();
  options->command = program;
  for (const device::Setting& setting : device::settings()) {
    const std::string key = setting.key;
    if (key == "quiet" || key == "fault") continue;
    std::string meaning = setting.meaning;
    meaning.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(meaning.front())));
    app.add_option(
           option_name(key), [options, key](const std::string& value) { options->settings[key] = value; },
           meaning)
        .type_name(setting.form);
  }
  app.add_option("--rule", options->rules, "The same for one rule; can be given several times")
      .type_name("ID=off|warning|error")
      .one_value_each();
  app.add_option("--fault", options->faults,
                 "What shall go wrong, and when; can be given several times (see below)")
      .type_name("CLAUSE|@FILE")
      .one_value_each();
  app.add_option("--visible", options->visible, "Which devices the program sees, such as 2,3")
      .type_name("LIST");
  app.add_option("--config", options->config_file, "Read settings from a file; other options come before it")
      .type_name("FILE");
  app.add_flag("-q,--quiet", options->quiet, "Leave out the line that says this is a software device");
  app.add_flag("--settings", options->list_settings, "List every setting, and run nothing");
  app.description("Run a program on the software device: plat run [OPTIONS] -- PROGRAM ARGUMENTS");
  return [options] { return run(*options); };
}

}  // namespace plat::cli
