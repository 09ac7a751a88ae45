// SPDX-License-Identifier: Apache-2.0
// How long a thread looks for more work, or for another process, before it sleeps: about 20 microseconds.
// Longer than the gap between two calls of a busy client, shorter than a sleep and a wake-up.
#pragma once

namespace plat::stream {

inline constexpr int kLingerLooks = 32;
inline constexpr int kRestsPerLook = 12;

}  // namespace plat::stream
