// SPDX-License-Identifier: Apache-2.0
// Who a process is, and whether it is still there.
#pragma once

#include <cstdint>
#include <string>

#include "os/file.h"

namespace plat::os {

struct ProcessIdentity {
  int32_t pid = 0;
  uint64_t start_time = 0;     // in clock ticks since boot; with the pid it names a process for good
  uint64_t pid_namespace = 0;  // pids mean something only within one
};

ProcessIdentity this_process();
// The program's short name, for people.
std::string process_name(int32_t pid);
// 0 when there is no such process.
uint64_t start_time_of(int32_t pid);
// The namespace in which this process's pids mean something; 0 when it cannot be found out.
uint64_t pid_namespace();
// Whether there is no such process any more: it has ended with all its threads, whether its parent has
// noticed or not. A pid that has been given to another process is not gone.
bool process_is_gone(int32_t pid);
// Whether the process was stopped by a signal or a debugger; false if it cannot be found out.
bool is_stopped(int32_t pid);
// Whether the process has files open, or does not let us see. One that is ending has none.
bool has_open_files(int32_t pid);

// Opens a file that another process has open under a number, or has mapped (that way needs privileges). Looks
// at all its threads, because the first one may have ended. An empty Fd when it cannot be reached.
Fd open_from_process(int32_t pid, int number, uint64_t file_device, uint64_t file_inode);

std::string boot_id();
uint32_t user_id();

// A number nobody can guess.
uint64_t random_number();

// Numbers of this process, and of the calling thread.
int32_t process_id();
int32_t thread_id();
// The end of this process, at once: no handler and no destructor runs.
[[noreturn]] void kill_process();

// Lets others run, or waits.
void yield();
void sleep_microseconds(uint32_t microseconds);
uint64_t monotonic_nanoseconds();

}  // namespace plat::os
