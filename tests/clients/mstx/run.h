// SPDX-License-Identifier: Apache-2.0
// Runs a test program with an environment of its own and brings back what it and the tools said.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace plat::mstx::test {

using Lines = std::vector<std::string>;
using Environment = std::map<std::string, std::string>;

inline std::string library(const std::string& name) {
  return std::string(LIBRARY_DIR) + "/lib" + name + ".so";
}
inline std::string tool(const std::string& name) { return library("mstx_tool_" + name); }
inline std::string broker() { return library("ms_tools_ext"); }

struct Outcome {
  int status = -1;
  Lines said;   // stdout of the program
  Lines heard;  // what the tools wrote

  // How often a tool wrote a line that begins so.
  int count(const std::string& beginning) const {
    int found = 0;
    for (const auto& line : heard) found += line.rfind(beginning, 0) == 0 ? 1 : 0;
    return found;
  }
  bool has_said(const std::string& line) const {
    for (const auto& known : said)
      if (known == line) return true;
    return false;
  }
};

inline Lines lines_of(std::istream& stream) {
  Lines lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

inline Outcome run(const std::vector<std::string>& command, Environment environment) {
  char log[] = "/tmp/mstx_test_XXXXXX";
  const int log_fd = mkstemp(log);
  close(log_fd);
  int pipe_fds[2];
  if (pipe(pipe_fds) != 0) std::abort();
  environment["MSTX_TEST_LOG"] = log;
  environment["PLAT_QUIET"] = "1";
  // A preloaded library comes before the sanitizer's, which otherwise refuses to start.
  environment["ASAN_OPTIONS"] = "verify_asan_link_order=0";
  const pid_t child = fork();
  if (child == 0) {
    dup2(pipe_fds[1], STDOUT_FILENO);
    close(pipe_fds[0]);
    close(pipe_fds[1]);
    for (const char* name : {"MSTX_INJECTION_PATH", "LD_PRELOAD", "PLAT_MSTX_REMEMBER"}) unsetenv(name);
    for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
    std::vector<char*> arguments;
    for (const auto& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);
    execvp(arguments[0], arguments.data());
    _exit(127);
  }
  close(pipe_fds[1]);
  Outcome outcome;
  std::string said;
  char buffer[4096];
  for (ssize_t got; (got = read(pipe_fds[0], buffer, sizeof(buffer))) > 0;)
    said.append(buffer, static_cast<size_t>(got));
  close(pipe_fds[0]);
  waitpid(child, &outcome.status, 0);
  std::istringstream said_stream(said);
  outcome.said = lines_of(said_stream);
  std::ifstream log_stream(log);
  outcome.heard = lines_of(log_stream);
  unlink(log);
  return outcome;
}

}  // namespace plat::mstx::test
