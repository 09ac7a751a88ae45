// SPDX-License-Identifier: Apache-2.0
// Another program: in place of this one, or below it.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace plat::os {

using Variables = std::map<std::string, std::string>;

// How a program ended: its exit code, or the signal that ended it (then `signal` is not 0).
struct Ending {
  int exit_code = 0;
  int signal = 0;
};

// Becomes the program, found through PATH, with these variables added to the environment. Returns (errno)
// only when that fails.
int become(const std::vector<std::string>& command, const Variables& variables);

// Runs the program and waits for its end. Signals that a process sends to us go on to it; those of the
// terminal reach it anyway. It does not outlive us. Fails like a shell: 127 when there is no such program,
// 126 when it cannot be run; `error` is then errno.
Ending run_child(const std::vector<std::string>& command, const Variables& variables, int& error);

// Ends this process in the same way.
[[noreturn]] void end_like(const Ending& ending);

// The absolute path of this program's own file.
std::string own_path();

// The absolute path of the library, or of the program, that this code is part of.
std::string own_library_path();

bool file_exists(const std::string& path);

}  // namespace plat::os
