// SPDX-License-Identifier: Apache-2.0
// What fuzzers of calls share: a machine of their own, and scripts that are played against a model.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>

namespace plat::fuzz {

// Before the first call.
inline void use_machine(const char* devices, const char* capacity, const char* host_capacity) {
  setenv("PLAT_NODE", "private", 1);
  setenv("PLAT_DEVICES", devices, 1);
  setenv("PLAT_CAPACITY", capacity, 1);
  setenv("PLAT_HOST_CAPACITY", host_capacity, 1);
  setenv("PLAT_LOG", "off", 0);
}

// Dies, with the last calls, where the library answers otherwise than the player's model. Each script takes
// down what it built, so the next one starts from nothing.
template <class Player>
int play(Player player, const uint8_t* data, size_t size, size_t most_bytes) {
  if (player.play({data, std::min(size, most_bytes)})) return 0;
  std::fprintf(stderr, "%s\nthe last calls:\n%s", player.difference().c_str(), player.history().c_str());
  std::abort();
}

}  // namespace plat::fuzz
