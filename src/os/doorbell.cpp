// SPDX-License-Identifier: Apache-2.0
#include "os/doorbell.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <filesystem>
#include <string>

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
  std::error_code error;
  const std::filesystem::path folder = "/proc/" + std::to_string(pid) + "/fd";
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    std::error_code gone;
    if (std::filesystem::read_symlink(entry.path(), gone) != wanted || gone) continue;
    Fd file(open(entry.path().c_str(), O_RDWR | O_CLOEXEC));
    if (file && is_it(file.get())) return file;
  }
  return {};
}

}  // namespace plat::os
