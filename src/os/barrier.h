// SPDX-License-Identifier: Apache-2.0
// A memory barrier that one thread raises in all threads of the process at once, so that the others need none
// of their own on a path that they take often.
#pragma once

namespace plat::os {

// Whether there is such a barrier; asks the system once. Never under ThreadSanitizer, which cannot see it.
bool has_process_barrier();

// After it, every other thread has passed a full barrier. False when the system refused, and nothing is
// known.
bool process_barrier();

}  // namespace plat::os
