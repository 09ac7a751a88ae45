// SPDX-License-Identifier: Apache-2.0
#include "copy/bulk.h"

#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace plat::copy {

#if defined(__x86_64__)

void copy_past_caches(void* to_start, const void* from_start, size_t size_bytes) {
  auto* target = static_cast<std::byte*>(to_start);
  const auto* source = static_cast<const std::byte*>(from_start);
  constexpr size_t kLine = 64;
  constexpr size_t kAhead = 512;  // bytes that are fetched before they are needed
  const size_t head = (kLine - reinterpret_cast<uintptr_t>(target) % kLine) % kLine;
  if (size_bytes < head + kLine) {
    std::memcpy(target, source, size_bytes);
    return;
  }
  std::memcpy(target, source, head);
  target += head;
  source += head;
  size_bytes -= head;
  for (; size_bytes >= kLine; size_bytes -= kLine, target += kLine, source += kLine) {
    __builtin_prefetch(source + kAhead, 0, 0);  // to be read, once; gcc 11 wants -O2 for _mm_prefetch
    const auto* from = reinterpret_cast<const __m128i*>(source);
    auto* to = reinterpret_cast<__m128i*>(target);
    const __m128i a = _mm_loadu_si128(from);
    const __m128i b = _mm_loadu_si128(from + 1);
    const __m128i c = _mm_loadu_si128(from + 2);
    const __m128i d = _mm_loadu_si128(from + 3);
    _mm_stream_si128(to, a);
    _mm_stream_si128(to + 1, b);
    _mm_stream_si128(to + 2, c);
    _mm_stream_si128(to + 3, d);
  }
  _mm_sfence();
  std::memcpy(target, source, size_bytes);
}

#else

void copy_past_caches(void* target, const void* source, size_t size_bytes) {
  std::memcpy(target, source, size_bytes);
}

#endif

}  // namespace plat::copy
