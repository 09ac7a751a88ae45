// SPDX-License-Identifier: Apache-2.0
#include "os/detached.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

namespace plat::os {

namespace {

// A child that runs none of the handlers of fork, and whose end raises no signal in the parent.
pid_t quiet_fork() {
  const auto child = static_cast<pid_t>(syscall(SYS_clone, 0, nullptr, nullptr, nullptr, nullptr));
  // Emulators know one signal only.
  if (child >= 0 || errno != EINVAL) return child;
  return static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr));
}

std::vector<std::string> environment_with(const Variables& variables) {
  std::vector<std::string> environment;
  for (char** at = environ; at != nullptr && *at != nullptr; ++at) {
    const std::string_view entry = *at;
    if (!variables.contains(std::string(entry.substr(0, entry.find('='))))) environment.emplace_back(entry);
  }
  for (const auto& [name, value] : variables)
    if (!value.empty()) environment.push_back(name + "=" + value);
  return environment;
}

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

constexpr unsigned kAliveNumber = 3;  // the file that the program keeps for as long as it lives

// In a copy of a process whose other threads are not there: system calls only.
[[noreturn]] void become_detached(char* const* arguments, char* const* environment, int nothing, int words,
                                  int alive) {
  setsid();
  // Above the numbers that they go to.
  const int high[] = {fcntl(nothing, F_DUPFD, 16), fcntl(words, F_DUPFD, 16), fcntl(alive, F_DUPFD, 16)};
  dup2(high[0], STDIN_FILENO);
  dup2(high[1], STDOUT_FILENO);
  dup2(high[1], STDERR_FILENO);
  dup2(high[2], kAliveNumber);
  if (syscall(SYS_close_range, kAliveNumber + 1, ~0U, 0) != 0)
    for (int number = kAliveNumber + 1; number < 65536; ++number) close(number);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  execve(arguments[0], arguments, environment);
  _exit(127);
}

}  // namespace

Fd start_detached(const std::vector<std::string>& command, const Variables& variables,
                  const std::string& log) {
  const std::vector<std::string> texts = environment_with(variables);
  const std::vector<char*> arguments = pointers_to(command), environment = pointers_to(texts);
  if (access(command.front().c_str(), X_OK) != 0) return {};
  const Fd words(open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
  const Fd nothing(open("/dev/null", O_RDWR | O_CLOEXEC));
  int ends[2];
  if (!words || !nothing || pipe2(ends, O_CLOEXEC) != 0) return {};
  Fd alive(ends[0]);
  const Fd its_end(ends[1]);
  const pid_t child = quiet_fork();
  if (child < 0) return {};
  if (child == 0) {
    // Its own child is nobody's: the system's first process takes care of it.
    const pid_t program = quiet_fork();
    if (program == 0)
      become_detached(arguments.data(), environment.data(), nothing.get(), words.get(), its_end.get());
    _exit(program < 0 ? 1 : 0);
  }
  int status = 0;
  while (waitpid(child, &status, __WALL) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return alive;
  errno = EAGAIN;
  return {};
}

bool has_ended(const Fd& program, int timeout_ms) {
  pollfd watched{program.get(), POLLIN, 0};
  return poll(&watched, 1, timeout_ms) > 0;
}

}  // namespace plat::os
