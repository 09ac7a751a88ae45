// SPDX-License-Identifier: Apache-2.0
#include "os/doorbell.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <string>
#include <string_view>

namespace plat::os {

namespace {

// Not the private kind: processes share the word.
long futex(const std::atomic<uint32_t>& word, int operation, uint32_t value, const timespec* until,
           uint32_t kinds) {
  static_assert(sizeof(word) == sizeof(uint32_t));
  return syscall(SYS_futex, reinterpret_cast<const uint32_t*>(&word), operation, value, until, nullptr,
                 kinds);
}

}  // namespace

void sleep_on(const std::atomic<uint32_t>& word, uint32_t value,
              std::optional<std::chrono::nanoseconds> longest, uint32_t kinds) {
  constexpr long kSecond = 1'000'000'000;
  timespec until{};
  if (longest) {  // this form wants to know when, not how long
    clock_gettime(CLOCK_MONOTONIC, &until);
    const long nanoseconds = until.tv_nsec + longest->count() % kSecond;
    until.tv_sec += longest->count() / kSecond + nanoseconds / kSecond;
    until.tv_nsec = nanoseconds % kSecond;
  }
  futex(word, FUTEX_WAIT_BITSET, value, longest ? &until : nullptr, kinds);
}

void wake_sleepers(const std::atomic<uint32_t>& word, uint32_t kinds) {
  futex(word, FUTEX_WAKE_BITSET, INT_MAX, nullptr, kinds);
}

Fd find_memory_file(int32_t pid, const char* name, const std::function<bool(int fd)>& is_it) {
  const std::string wanted = std::string("/memfd:") + name + " (deleted)";
  const std::string folder = "/proc/" + std::to_string(pid) + "/fd/";
  for (const std::string& number : list_directory(folder)) {
    const std::string path = folder + number;
    char target[256];
    const ssize_t length = readlink(path.c_str(), target, sizeof target);
    if (length < 0 || std::string_view(target, static_cast<size_t>(length)) != wanted) continue;
    Fd file(open(path.c_str(), O_RDWR | O_CLOEXEC));
    if (file && is_it(file.get())) return file;
  }
  return {};
}

}  // namespace plat::os
