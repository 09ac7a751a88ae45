// SPDX-License-Identifier: Apache-2.0
#include "os/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <sstream>
#include <vector>

#include "os/file.h"

namespace plat::os {

ProcessIdentity this_process() {
  ProcessIdentity identity;
  identity.pid = getpid();
  identity.start_time = start_time_of(identity.pid);
  identity.pid_namespace = pid_namespace();
  return identity;
}

uint64_t pid_namespace() {
  struct stat info {};
  return stat("/proc/self/ns/pid", &info) == 0 ? info.st_ino : 0;
}

bool process_is_gone(int32_t pid) {
  if (kill(pid, 0) != 0 && errno == ESRCH) return true;
  // One that has ended but was not waited for still has its pid; its file is readable then, and not while one
  // of its threads runs.
  const Fd process(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  if (!process) return errno == ESRCH;
  pollfd ended{process.get(), POLLIN, 0};
  return poll(&ended, 1, 0) == 1 && (ended.revents & POLLIN) != 0;
}

std::string process_name(int32_t pid) {
  auto name = read_small_file(fmt::format("/proc/{}/comm", pid)).value_or("");
  while (!name.empty() && name.back() == '\n') name.pop_back();
  return name;
}

uint64_t start_time_of(int32_t pid) {
  // That of its first thread, which is the same. Emulators give a process another file for its own
  // /proc/self/stat, with a time that no other process sees.
  const auto text = read_small_file(fmt::format("/proc/{0}/task/{0}/stat", pid));
  if (!text) return 0;
  // Field 22; the second field is the name in parentheses, which may itself hold spaces and parentheses.
  const size_t after_name = text->rfind(')');
  if (after_name == std::string::npos) return 0;
  std::istringstream fields(text->substr(after_name + 1));
  std::string skipped;
  for (int i = 3; i < 22; ++i) fields >> skipped;
  uint64_t start_time = 0;
  fields >> start_time;
  return start_time;
}

bool is_stopped(int32_t pid) {
  const auto text = read_small_file(fmt::format("/proc/{}/stat", pid));
  const size_t after_name = text ? text->rfind(')') : std::string::npos;
  if (after_name == std::string::npos || after_name + 2 >= text->size()) return false;
  const char state = (*text)[after_name + 2];
  return state == 'T' || state == 't';
}

namespace {

// The address range ("start-end") at which the process has the file mapped; "" if it has not.
std::string mapped_range(int32_t pid, uint64_t file_device, uint64_t file_inode) {
  std::istringstream lines(read_small_file(fmt::format("/proc/{}/maps", pid)).value_or(""));
  for (std::string line; std::getline(lines, line);) {
    unsigned major_number = 0;
    unsigned minor_number = 0;
    uint64_t inode = 0;
    if (std::sscanf(line.c_str(), "%*s %*s %*s %x:%x %" SCNu64, &major_number, &minor_number, &inode) == 3 &&
        inode == file_inode && makedev(major_number, minor_number) == file_device)
      return line.substr(0, line.find(' '));
  }
  return "";
}

}  // namespace

bool has_open_files(int32_t pid) {
  const std::string folder = fmt::format("/proc/{}/fd", pid);
  return access(folder.c_str(), R_OK) == 0 ? !list_directory(folder).empty() : errno == EACCES;
}

Fd open_from_process(int32_t pid, int number, uint64_t file_device, uint64_t file_inode) {
  std::vector<std::string> paths;
  const std::string threads = fmt::format("/proc/{}/task", pid);
  for (const std::string& thread : list_directory(threads))
    paths.push_back(fmt::format("{}/{}/fd/{}", threads, thread, number));
  if (const std::string range = mapped_range(pid, file_device, file_inode); !range.empty())
    paths.push_back(fmt::format("/proc/{}/map_files/{}", pid, range));
  for (const std::string& path : paths) {
    Fd opened(open(path.c_str(), O_RDWR | O_CLOEXEC));
    const auto identity = opened ? identify(opened.get()) : std::nullopt;
    if (identity && identity->inode == file_inode && identity->device == file_device) return opened;
  }
  return Fd();
}

std::string boot_id() {
  auto id = read_small_file("/proc/sys/kernel/random/boot_id").value_or("unknown");
  while (!id.empty() && id.back() == '\n') id.pop_back();
  return id;
}

uint32_t user_id() { return geteuid(); }

uint64_t random_number() {
  uint64_t value = 0;
  if (getrandom(&value, sizeof value, 0) != sizeof value)
    value = monotonic_nanoseconds() * 0x9E3779B97F4A7C15u;
  return value;
}

void sleep_microseconds(uint32_t microseconds) { usleep(microseconds); }

uint64_t monotonic_nanoseconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
}

int32_t process_id() { return getpid(); }

int32_t thread_id() { return gettid(); }

void kill_process() {
  kill(getpid(), SIGKILL);
  for (;;) pause();  // the signal is on its way
}

void yield() { sched_yield(); }

}  // namespace plat::os
