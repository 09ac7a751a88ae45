// SPDX-License-Identifier: Apache-2.0
// Makes one step of a call fail: the n-th system call or allocation that this thread makes after arm(n). The
// functions of the C library that the library calls, and operator new, are replaced in the program that links
// this; closing, unmapping and unlocking never fail.
#pragma once

#include <cstdint>

namespace plat::test {

// From here on the steps of this thread count, and the n-th fails.
void arm_step(uint64_t n);
// Ends that; how many steps there were. Larger or equal n: the fault was met.
uint64_t disarm_steps();
// What failed, for messages: "mmap", "operator new"; "" when nothing did.
const char* failed_step();

}  // namespace plat::test
