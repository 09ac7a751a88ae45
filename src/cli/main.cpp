// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string_view>
#include <vector>

#include "cli/cli.h"
#include "cli/help.h"
#include "cli/terminal.h"

namespace plat::cli {

namespace {

constexpr const char* kVersion =
    "plat " PLAT_VERSION
    "\nA software device: it plays the memory system of an Ascend NPU. There is no NPU behind it.";

// Every subcommand, in the order of the help text.
const std::array kCommands = {
    Command{"info", "Show the devices, and what each process holds", kInfoExamples, add_info},
    Command{"run", "Run a program on the software device", kRunExamples, add_run},
    Command{"check", "Run a program and say what it does wrong with memory", kCheckExamples, add_check},
    Command{"record", "Run a program and write down what it does with memory", kRecordExamples, add_record},
    Command{"report", "Show what happened to memory in a trace", kReportExamples, add_report},
    Command{"view", "Show a trace as a page for the browser", kViewExamples, add_view},
    Command{"export", "Write a trace as a file that other tools open", kExportExamples, add_export},
    Command{"top", "Show memory as it is now, again and again", kTopExamples, add_top},
    Command{"rules", "Explain the rules that errors cite", kRulesExamples, add_rules},
    Command{"replay", "Run a trace of allocations against the pool", kReplayExamples, add_replay},
    Command{"fabric", "Let programs use memory of other servers", kFabricExamples, add_fabric},
    Command{"clean", "Remove what machines that nobody uses have left", kCleanExamples, add_clean},
};

constexpr const char* kFooter = R"(
'plat COMMAND --help' shows the options of a command, with examples.
'plat run --settings' lists every setting of the software device.)";

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("The software device: the memory system of an Ascend NPU, on a machine without one.", "plat");
  app.set_version_flag("--version", kVersion, "Say which version this is");
  app.footer(kFooter);
  app.formatter(std::make_shared<Help>());
  app.require_subcommand(1);
  Program program;
  if (argc > 1 && takes_program(argv[1])) {
    char** const dashes = std::find(argv, argv + argc, std::string_view("--"));
    if (dashes != argv + argc) program.assign(dashes + 1, argv + argc);
    argc = static_cast<int>(dashes - argv);
  }
  std::vector<std::pair<CLI::App*, Action>> actions;
  for (const Command& command : kCommands) {
    CLI::App* sub = app.add_subcommand(command.name, command.summary);
    sub->footer(command.examples);
    Parser parser(*sub);
    actions.emplace_back(sub, command.add(parser, program));
  }
  if (argc == 1) {
    fmt::print("{}", app.help());
    return kAskedWrongly;
  }
  const bool is_known =
      argv[1][0] == '-' || std::any_of(kCommands.begin(), kCommands.end(),
                                       [&](const auto& c) { return std::string_view(argv[1]) == c.name; });
  if (!is_known) {
    fmt::print(stderr, "plat: there is no command '{}'; 'plat --help' lists them\n", argv[1]);
    return kAskedWrongly;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& wanted) {  // --help, --version
    return app.exit(wanted);
  } catch (const CLI::ParseError& wrong) {
    show(stderr, fmt::format("plat: {}\n", wrong.what()));
    const auto chosen = app.get_subcommands();
    if (!chosen.empty() && takes_program(chosen.front()->get_name()) &&
        wrong.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError))
      fmt::print(stderr,
                 "The program and its arguments go after '--': plat {} [OPTIONS] -- PROGRAM ARGUMENTS\n",
                 chosen.front()->get_name());
    fmt::print(stderr, "'plat {}--help' shows what can be asked, with examples.\n",
               chosen.empty() ? "" : chosen.front()->get_name() + " ");
    return kAskedWrongly;
  }
  // Beyond 'ulimit -f' a write fails like any other. A handler, not "ignore", which programs would inherit.
  std::signal(SIGXFSZ, [](int) {});
  for (const auto& [sub, action] : actions) {
    if (!sub->parsed()) continue;
    const int code = action();
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
    fmt::print(stderr, "plat: stdout cannot be written: {}\n", std::strerror(errno));
    return kAskedWrongly;
  }
  return kAskedWrongly;
}

}  // namespace plat::cli

int main(int argc, char** argv) {
  try {
    return plat::cli::main(argc, argv);
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "plat: %s\n", problem.what());
    return plat::cli::kAskedWrongly;
  }
}
