// SPDX-License-Identifier: Apache-2.0
#include "os/stack.h"

#include <execinfo.h>

#include <algorithm>

namespace plat::os {

Stack walk_stack(size_t depth, size_t skip) {
  Stack stack(depth);
  stack.resize(static_cast<size_t>(backtrace(stack.data(), static_cast<int>(depth))));
  stack.erase(stack.begin(), stack.begin() + static_cast<ptrdiff_t>(std::min(skip, stack.size())));
  return stack;
}

}  // namespace plat::os
