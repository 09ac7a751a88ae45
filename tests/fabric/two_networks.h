// SPDX-License-Identifier: Apache-2.0
// Two network namespaces with a wire (a veth pair) between them, for servers that have nothing else in
// common. A process of its own holds each; all is gone when they end.
#pragma once

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "os/file.h"

namespace plat::test {

class Wire {
 public:
  // Calls for a process that has nothing of the caller's network: its first thread is the only one.
  Wire() {
    problem_ = leave_network();
    if (!problem_.empty()) return;
    far_process_ = hold_network();
    const std::string far_pid = std::to_string(far_process_);
    near_ = os::Fd(open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC));
    far_ = os::Fd(open(("/proc/" + far_pid + "/ns/net").c_str(), O_RDONLY | O_CLOEXEC));
    if (!near_ || !far_) problem_ = "no namespace to open";
    run("ip link set lo up");
    run("ip link add plat0 type veth peer name plat1 netns " + far_pid);
    run(fmt::format("ip addr add {}/24 dev plat0", host(0)));
    up();
    if (!problem_.empty() || setns(far_.get(), CLONE_NEWNET) != 0) return;
    run("ip link set lo up");
    run(fmt::format("ip addr add {}/24 dev plat1", host(1)));
    run("ip link set plat1 up");
    if (setns(near_.get(), CLONE_NEWNET) != 0) problem_ = "no way back";
  }
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;
  ~Wire() {
    if (far_process_ <= 0 || getpid() != owner_) return;
    kill(far_process_, SIGKILL);
    waitpid(far_process_, nullptr, 0);
  }

  static const char* host(int side) { return side == 0 ? "10.77.0.1" : "10.77.0.2"; }
  int network(int side) const { return side == 0 ? near_.get() : far_.get(); }
  void down() { run("ip link set plat0 down"); }
  void up() { run("ip link set plat0 up"); }
  const std::string& problem() const { return problem_; }

  // Why this machine gives nobody a wire; empty when it does.
  static std::string why_not() {
    int ends[2];
    if (pipe(ends) != 0) return "no pipe";
    const pid_t child = fork();
    if (child == 0) {
      std::string problem;
      {
        const Wire wire;
        problem = wire.problem();
      }
      if (write(ends[1], problem.data(), problem.size()) < 0) _exit(1);
      _exit(0);
    }
    close(ends[1]);
    char text[256];
    const ssize_t got = read(ends[0], text, sizeof text);
    close(ends[0]);
    waitpid(child, nullptr, 0);
    return std::string(text, got > 0 ? static_cast<size_t>(got) : 0);
  }

 private:
  static bool write_to(const char* path, const std::string& text) {
    const os::Fd file(open(path, O_WRONLY | O_CLOEXEC));
    return file && write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
  }

  // Who is not root is root of a user namespace first.
  static std::string leave_network() {
    if (unshare(CLONE_NEWNET) == 0) return "";
    const std::string user = std::to_string(geteuid()), group = std::to_string(getegid());
    if (unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0)
      return std::string("no network namespaces: ") + strerror(errno);
    if (!write_to("/proc/self/setgroups", "deny") || !write_to("/proc/self/uid_map", "0 " + user + " 1") ||
        !write_to("/proc/self/gid_map", "0 " + group + " 1"))
      return "no user namespaces";
    return "";
  }

  // A process with a network of its own; its number is known when it has one.
  static pid_t hold_network() {
    int ends[2];
    if (pipe(ends) != 0) return -1;
    const pid_t child = fork();
    if (child == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (unshare(CLONE_NEWNET) != 0 || write(ends[1], "1", 1) != 1) _exit(1);
      for (;;) pause();
    }
    close(ends[1]);
    char ready = 0;
    (void)!read(ends[0], &ready, 1);
    close(ends[0]);
    return child;
  }

  void run(const std::string& command) {
    if (problem_.empty() && system((command + " 2>/dev/null").c_str()) != 0)
      problem_ = "'" + command + "' does not work here";
  }

  std::string problem_;
  pid_t far_process_ = -1;
  os::Fd near_, far_;
  pid_t owner_ = getpid();
};

}  // namespace plat::test
