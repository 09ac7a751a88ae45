// SPDX-License-Identifier: Apache-2.0
// Call stacks: taken by walking frame pointers (or by unwinding), stored once, and from then on a number.
#pragma once

#include <cstdint>

#include "inspect/record/settings.h"

namespace plat::inspect {

struct ThreadState;

void prepare_stacks(const Settings& settings);
// For a forked child, whose trace has none of them.
void forget_stacks();

// Where the frames of the calling thread can be.
void find_stack_limits(ThreadState& state);

extern Stacks g_stacks;
uint32_t take_stack(const void* frame);

// The number of the stack above `frame`, the frame of a function that the program called. 0: none.
inline uint32_t capture_stack(const void* frame) { return g_stacks == Stacks::None ? 0 : take_stack(frame); }

}  // namespace plat::inspect
