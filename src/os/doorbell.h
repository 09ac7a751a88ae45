// SPDX-License-Identifier: Apache-2.0
// Waking threads of other processes: a word in shared memory that they sleep on; and how they find the
// memory.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>

#include "os/file.h"

namespace plat::os {

// Who sleeps: a bit for each kind, so that some can be woken and others not.
inline constexpr uint32_t kAllSleepers = ~uint32_t{0};

// Sleeps while the word holds the value, at most so long; for ever without a time. May return early.
void sleep_on(const std::atomic<uint32_t>& word, uint32_t value,
              std::optional<std::chrono::nanoseconds> longest, uint32_t kinds = kAllSleepers);
// Wakes all of these kinds who sleep on it, in whichever process.
void wake_sleepers(const std::atomic<uint32_t>& word, uint32_t kinds = kAllSleepers);

// Opens a memory file of that name (create_memory_file) that another process has open and that `is_it`
// accepts. An empty Fd when there is none, or the process does not let us look.
Fd find_memory_file(int32_t pid, const char* name, const std::function<bool(int fd)>& is_it);

}  // namespace plat::os
