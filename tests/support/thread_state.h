// SPDX-License-Identifier: Apache-2.0
// What a thread does at the moment, for tests that would have to sleep until it does something.
#pragma once

#include <sys/types.h>

#include <fstream>
#include <iterator>
#include <string>

namespace plat::test {

// The letter of /proc/<pid>/task/<tid>/stat: R runs, S sleeps, Z has ended; X when there is no such thread.
inline char state_of(pid_t process, pid_t thread) {
  std::ifstream file("/proc/" + std::to_string(process) + "/task/" + std::to_string(thread) + "/stat");
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  const size_t name_end = text.rfind(')');
  return name_end == std::string::npos || name_end + 2 >= text.size() ? 'X' : text[name_end + 2];
}

// Of its first thread.
inline char state_of(pid_t process) { return state_of(process, process); }

}  // namespace plat::test
