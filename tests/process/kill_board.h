// SPDX-License-Identifier: Apache-2.0
// What the supervisor and the workers of the kill test share: a page of memory that outlives any of them.
#pragma once

#include <atomic>
#include <cstdint>

namespace plat::kill_test {

inline constexpr unsigned kWorkers = 4;
inline constexpr unsigned kOffers = 32;
inline constexpr unsigned kKeyWords = 8;  // 64 characters

struct Board {
  std::atomic<uint64_t> offers[kOffers];  // shareable numbers that anybody may import
  // IPC keys; half of one and half of another is a key that nobody knows.
  std::atomic<uint64_t> keys[kOffers][kKeyWords];
  // Odd: workers stop between two calls and report; each pause has its own number.
  std::atomic<uint32_t> pause;
  struct Worker {
    std::atomic<int32_t> pid;
    std::atomic<uint32_t> paused_at;   // the pause it has seen
    std::atomic<uint64_t> held_bytes;  // at that moment, imports included
    std::atomic<uint64_t> operations;
    std::atomic<uint64_t> corruptions;  // a tag that changed, or new memory that was not zero
    std::atomic<uint64_t> surprises;    // calls that failed for no allowed reason
    char first_surprise[512];
  } workers[kWorkers];
};

}  // namespace plat::kill_test
