// SPDX-License-Identifier: Apache-2.0
// Somebody at the socket of a daemon who answers as a test wants: late, not at all, or in another version.
#pragma once

#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <string>
#include <thread>

#include "fabric/message.h"
#include "os/process.h"

namespace plat::test {

class FakeDaemon {
 public:
  // What is done with a request; connections are served at the same time.
  using Answer = std::function<void(int socket, const fabric::Request& request)>;
  FakeDaemon(const std::string& path, const Answer& answer) {
    process_ = fork();
    if (process_ == 0) run(path, answer);
    while (!os::connect_to(path, 1000)) os::sleep_microseconds(2000);
  }
  FakeDaemon(const FakeDaemon&) = delete;
  FakeDaemon& operator=(const FakeDaemon&) = delete;
  ~FakeDaemon() {
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }

 private:
  [[noreturn]] static void run(const std::string& path, const Answer& answer) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const os::Fd listener = os::listen_at(path);
    for (;;) {
      const int socket = accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC);
      if (socket < 0) _exit(3);
      std::thread([socket, &answer] {
        fabric::Request request;
        while (fabric::receive(socket, request, -1) == fabric::Received::Message) answer(socket, request);
        close(socket);
      }).detach();
    }
  }

  pid_t process_ = 0;
};

}  // namespace plat::test
