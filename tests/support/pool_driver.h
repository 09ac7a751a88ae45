// SPDX-License-Identifier: Apache-2.0
// Drives a pool through a sequence of operations that bytes spell out, and compares every step with a naive
// model: live blocks do not overlap, start where the rules want, keep their contents, and nothing is lost
// when device calls fail.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace plat::test {

// Empty when all is well, otherwise what went wrong at which step. Resets the counting device.
std::string drive_pool(const uint8_t* data, size_t size);

// `length` bytes of operations from a seed.
std::string drive_pool_with_seed(uint64_t seed, size_t length);

}  // namespace plat::test
