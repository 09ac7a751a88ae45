// SPDX-License-Identifier: Apache-2.0
// A program with the recorder in it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "os/child.h"

namespace plat::cli {

struct RecordOptions {
  std::string trace;  // the file; processes that the program starts add their pid to the name
  std::string stacks = "fp";
  uint32_t depth = 32;
  uint64_t max_bytes = 0;  // 0: the recorder's own limit
  int pid = 0;             // a process that runs, instead of a command
  double wait_s = 10;      // for its next mstx call
  std::vector<std::string> command;
};

// Runs the program; `error` is errno if it could not be started.
os::Ending run_recorded(const RecordOptions& options, int& error);

// The traces that a run has left: the file itself and those of child processes.
std::vector<std::string> traces_of(const std::string& trace);

// As a shell says that a program could not be started. Returns the exit code.
int complain_about_program(const std::string& program, int error);

}  // namespace plat::cli
