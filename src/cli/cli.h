// SPDX-License-Identifier: Apache-2.0
// cli/: the plat command, one file for each subcommand.
//
// A subcommand is a row of the table in main.cpp and a function that adds it to the parser. It speaks to
// people on stdout, complains on stderr and returns an exit code: 0 done, 1 the answer is bad news, 2 it was
// asked wrongly. May include every folder above it. Never opens a device: it looks at machines from outside.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/parser.h"

namespace plat::cli {

inline constexpr int kDone = 0;
inline constexpr int kBadNews = 1;
inline constexpr int kAskedWrongly = 2;

// What a subcommand does once its options are known.
using Action = std::function<int()>;

// What stood after '--' on the command line, untouched: the parser would take "[a,b]" apart.
using Program = std::vector<std::string>;

struct Command {
  const char* name;
  const char* summary;   // one line of `plat --help`
  const char* examples;  // shown below the options of its own help
  Action (*add)(Parser& app, const Program& program);
};

Action add_info(Parser& app, const Program& program);
Action add_run(Parser& app, const Program& program);
Action add_rules(Parser& app, const Program& program);
Action add_replay(Parser& app, const Program& program);
Action add_clean(Parser& app, const Program& program);
Action add_record(Parser& app, const Program& program);
Action add_check(Parser& app, const Program& program);
Action add_report(Parser& app, const Program& program);
Action add_export(Parser& app, const Program& program);
Action add_view(Parser& app, const Program& program);
Action add_top(Parser& app, const Program& program);
Action add_fabric(Parser& app, const Program& program);

extern const char* const kInfoExamples;
extern const char* const kRunExamples;
extern const char* const kRulesExamples;
extern const char* const kReplayExamples;
extern const char* const kCleanExamples;
extern const char* const kRecordExamples;
extern const char* const kCheckExamples;
extern const char* const kReportExamples;
extern const char* const kExportExamples;
extern const char* const kViewExamples;
extern const char* const kTopExamples;
extern const char* const kFabricExamples;

}  // namespace plat::cli
