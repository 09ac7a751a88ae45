// Moving bytes better than the C library does where it cannot know what we know.
#pragma once

#include <cstddef>
#include <cstring>

namespace plat::memory {

// memcpy, past the caches where the processor can do that, of a piece of something larger that the C library
// does not see. The ranges do not overlap.
void copy_past_caches(std::byte* target, const std::byte* source, size_t size_bytes);

// memcpy of what fits the nearest cache.
void copy_by_vectors(std::byte* target, const std::byte* source, size_t size_bytes);

// memcpy. From 4 KiB on the C library lets the processor's microcode move the bytes: it starts slowly, and
// nothing before or after overlaps with it. While the nearest cache holds all, plain vectors are quicker.
inline void copy_in_cache(std::byte* target, const std::byte* source, size_t size_bytes) {
  constexpr size_t kMicrocode = 4096;
  constexpr size_t kCache = 16384;
  if (size_bytes >= kMicrocode && size_bytes <= kCache)
    copy_by_vectors(target, source, size_bytes);
  else
    std::memcpy(target, source, size_bytes);
}

}  // namespace plat::memory
