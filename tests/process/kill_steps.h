// SPDX-License-Identifier: Apache-2.0
// Kills another process a chosen number of instructions after it took a lock of a file: places that no crash
// point names, and that a kill at a random moment hardly ever hits.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include <cstdint>
#include <optional>

namespace plat::kill_test {

// A stop of the traced process, or nothing when it is dead; then `status` says how it died.
inline bool next_stop(pid_t pid, int& status) {
  return waitpid(pid, &status, __WALL) == pid && WIFSTOPPED(status);
}

// Whether the call that the process is about to make takes a lock of its own open file.
inline bool takes_lock(pid_t pid, const struct __ptrace_syscall_info& info) {
  if (info.entry.nr != SYS_fcntl || (info.entry.args[1] != F_OFD_SETLK && info.entry.args[1] != F_OFD_SETLKW))
    return false;
  struct flock wanted {};
  iovec here{&wanted, sizeof wanted};
  iovec there{reinterpret_cast<void*>(info.entry.args[2]),
              sizeof wanted};  // NOLINT: an address in the other process
  return process_vm_readv(pid, &here, 1, &there, 1, 0) == sizeof wanted && wanted.l_type == F_WRLCK;
}

// The status of its death; nothing where processes cannot be traced, or where it took no lock for a long
// time: it lives on.
inline std::optional<int> kill_inside_lock(pid_t pid, uint64_t instructions) {
  if (ptrace(PTRACE_SEIZE, pid, nullptr, PTRACE_O_TRACESYSGOOD) != 0) return std::nullopt;
  ptrace(PTRACE_INTERRUPT, pid, nullptr, nullptr);
  int status = 0;
  bool has_asked = false, is_inside = false;
  for (int stops = 0; stops < 20000 && !is_inside; ++stops) {
    if (!next_stop(pid, status)) return status;
    struct __ptrace_syscall_info info {};
    if (ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof info, &info) <= 0) info.op = PTRACE_SYSCALL_INFO_NONE;
    if (info.op == PTRACE_SYSCALL_INFO_EXIT && has_asked && info.exit.rval == 0) is_inside = true;
    if (info.op == PTRACE_SYSCALL_INFO_ENTRY) has_asked = takes_lock(pid, info);
    if (!is_inside) ptrace(PTRACE_SYSCALL, pid, nullptr, nullptr);
  }
  for (; is_inside && instructions > 0; --instructions) {
    ptrace(PTRACE_SINGLESTEP, pid, nullptr, nullptr);
    if (!next_stop(pid, status)) return status;
  }
  if (!is_inside) {  // the last stop is still to come
    if (!next_stop(pid, status)) return status;
    ptrace(PTRACE_DETACH, pid, nullptr, nullptr);
    return std::nullopt;
  }
  kill(pid, SIGKILL);
  while (next_stop(pid, status)) {
  }
  return status;
}

}  // namespace plat::kill_test
