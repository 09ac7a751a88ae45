// SPDX-License-Identifier: Apache-2.0
// Moving bytes better than the C library does where it cannot know what we know.
#pragma once

#include <cstddef>

namespace plat::copy {

// memcpy, past the caches where the processor can do that, of a piece of something larger that the C library
// does not see. The ranges do not overlap. Can be left anywhere, see os/guard.h.
void copy_past_caches(void* target, const void* source, size_t size_bytes);

}  // namespace plat::copy
