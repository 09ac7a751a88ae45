// Moving bytes that are too many for the caches, in pieces that are too short for the C library to notice.
#pragma once

#include <cstddef>

namespace plat::memory {

// memcpy, past the caches where the processor can do that. The ranges do not overlap.
void copy_past_caches(std::byte* target, const std::byte* source, size_t size_bytes);

}  // namespace plat::memory
