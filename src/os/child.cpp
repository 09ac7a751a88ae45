// SPDX-License-Identifier: Apache-2.0
#include "os/child.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>

namespace plat::os {

int become(const std::vector<std::string>& command, const Variables& variables) {
  for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  return errno;
}

namespace {

// The child says through this pipe why it could not become the program; success closes it unsaid.
struct Pipe {
  int ends[2] = {-1, -1};
  Pipe() {
    if (pipe2(ends, O_CLOEXEC) != 0) ends[0] = ends[1] = -1;
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() { close_ends(); }
  void close_ends() {
    for (int& end : ends) {
      if (end >= 0) close(end);
      end = -1;
    }
  }
};

// Everything that ends or informs a process by default. Job control is left to the kernel and the terminal.
sigset_t passed_on() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM, SIGPIPE, SIGWINCH})
    sigaddset(&set, signal);
  return set;
}

// While a child runs: with SIGCHLD ignored, as some parents leave it to their programs, the kernel would tell
// nobody of the child's end and throw its exit code away.
class ChildSignal {
 public:
  ChildSignal() {
    struct sigaction plain {};
    plain.sa_handler = SIG_DFL;
    sigaction(SIGCHLD, &plain, &before_);
  }
  ChildSignal(const ChildSignal&) = delete;
  ChildSignal& operator=(const ChildSignal&) = delete;
  ~ChildSignal() { restore(); }
  void restore() const { sigaction(SIGCHLD, &before_, nullptr); }

 private:
  struct sigaction before_ {};
};

Ending ending_of(int status) {
  if (WIFSIGNALED(status)) return {128 + WTERMSIG(status), WTERMSIG(status)};
  return {WEXITSTATUS(status), 0};
}

}  // namespace

Ending run_child(const std::vector<std::string>& command, const Variables& variables, int& error) {
  error = 0;
  Pipe verdict;
  sigset_t waited = passed_on();
  sigaddset(&waited, SIGCHLD);
  sigset_t before;
  sigprocmask(SIG_BLOCK, &waited, &before);
  const ChildSignal child_signal;
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) {
    error = errno;
    sigprocmask(SIG_SETMASK, &before, nullptr);
    return {126, 0};
  }
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(126);  // it died before we asked
    child_signal.restore();
    sigprocmask(SIG_SETMASK, &before, nullptr);
    const int failure = become(command, variables);
    [[maybe_unused]] const ssize_t told = write(verdict.ends[1], &failure, sizeof failure);
    _exit(failure == ENOENT ? 127 : 126);
  }
  close(verdict.ends[1]);
  verdict.ends[1] = -1;
  if (read(verdict.ends[0], &error, sizeof error) != static_cast<ssize_t>(sizeof error)) error = 0;
  int status = 0;
  pid_t ended = 0;
  while ((ended = waitpid(child, &status, WNOHANG)) == 0) {
    siginfo_t info{};
    const int signal = sigwaitinfo(&waited, &info);
    // A signal from the terminal went to the whole process group, the child included.
    if (signal > 0 && signal != SIGCHLD && info.si_code <= 0) kill(child, signal);
  }
  const int wait_error = ended < 0 ? errno : 0;
  sigprocmask(SIG_SETMASK, &before, nullptr);
  if (wait_error != 0) {  // somebody else took the exit code: none must be made up
    error = wait_error;
    return {126, 0};
  }
  return ending_of(status);
}

void end_like(const Ending& ending) {
  if (ending.signal != 0) {
    // The child has left a core, if one was wanted; ours would only hide it.
    const rlimit no_core{0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    signal(ending.signal, SIG_DFL);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, ending.signal);
    sigprocmask(SIG_UNBLOCK, &set, nullptr);
    raise(ending.signal);
  }
  _exit(ending.exit_code);
}

std::string own_path() {
  char path[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  return length > 0 ? std::string(path, static_cast<size_t>(length)) : "";
}

std::string own_library_path() {
  Dl_info own{};
  char path[PATH_MAX];
  if (dladdr(reinterpret_cast<const void*>(&own_library_path), &own) == 0 || own.dli_fname == nullptr)
    return "";
  return realpath(own.dli_fname, path) != nullptr ? path : "";
}

bool file_exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

}  // namespace plat::os
