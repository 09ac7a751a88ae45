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

// The number of the stack above `frame`, the frame of a function that the program called. 0: none.
uint32_t capture_stack(const void* frame);

}  // namespace plat::inspect
