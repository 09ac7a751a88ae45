// SPDX-License-Identifier: Apache-2.0
// Unsignalled: while it lives, a write of this thread that fails raises no signal.
//
// A library that writes a line to a pipe which nobody reads, or a file beyond `ulimit -f`, would end the
// program that it is a guest of. The write still fails, with EPIPE or EFBIG. A signal that was on its way
// before is still delivered.
#pragma once

#include <cerrno>
#include <csignal>
#include <ctime>
#include <initializer_list>

namespace plat {

class Unsignalled {
 public:
  Unsignalled() {
    sigemptyset(&raised_);
    sigaddset(&raised_, SIGPIPE);
    sigaddset(&raised_, SIGXFSZ);
    sigset_t pending;
    sigemptyset(&pending);
    sigpending(&pending);
    for (const int signal : {SIGPIPE, SIGXFSZ})
      if (sigismember(&pending, signal) == 1) sigdelset(&raised_, signal);
    pthread_sigmask(SIG_BLOCK, &raised_, &before_);
  }
  ~Unsignalled() {
    const int error = errno;  // of the write
    constexpr timespec kNow{};
    while (sigtimedwait(&raised_, nullptr, &kNow) > 0) continue;
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    errno = error;
  }
  Unsignalled(const Unsignalled&) = delete;
  Unsignalled& operator=(const Unsignalled&) = delete;

 private:
  sigset_t raised_;  // what would be ours
  sigset_t before_;
};

}  // namespace plat
