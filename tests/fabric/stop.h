// SPDX-License-Identifier: Apache-2.0
// Stopping a process for a while.
#pragma once

#include <signal.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

namespace plat::test {

// Stops a process, and waits until all of its threads stand: the call returns before they do.
inline void stop(pid_t pid) {
  kill(pid, SIGSTOP);
  const auto stands = [](const std::filesystem::path& task) {
    std::ifstream file(task / "stat");
    const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    const size_t name_end = text.rfind(')');
    return name_end == std::string::npos || text.substr(name_end + 2, 1) == "T";
  };
  const std::filesystem::path tasks = "/proc/" + std::to_string(pid) + "/task";
  const auto all_stand = [&] {
    for (const auto& task : std::filesystem::directory_iterator(tasks))
      if (!stands(task.path())) return false;
    return true;
  };
  while (!all_stand()) std::this_thread::yield();
}

}  // namespace plat::test
