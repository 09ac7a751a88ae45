// SPDX-License-Identifier: Apache-2.0
// Call stacks, for messages.
#pragma once

#include <cstddef>
#include <vector>

namespace plat::os {

using Stack = std::vector<void*>;

// The calls that lead here: at most `depth`, without the innermost `skip`. This function is the first.
Stack walk_stack(size_t depth, size_t skip);

}  // namespace plat::os
