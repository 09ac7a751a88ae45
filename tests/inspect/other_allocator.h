// SPDX-License-Identifier: Apache-2.0
// An allocator that is neither the program's nor Plat's, in a library of its own.
#pragma once

#include <cstddef>

__attribute__((visibility("default"))) void* other_allocate(size_t size);
