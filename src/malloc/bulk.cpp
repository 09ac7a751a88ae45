#include "malloc/bulk.h"

#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace plat::memory {

#if defined(__x86_64__)

void copy_past_caches(std::byte* target, const std::byte* source, size_t size_bytes) {
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
    _mm_prefetch(reinterpret_cast<const char*>(source) + kAhead, _MM_HINT_NTA);
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

namespace {

[[gnu::target("avx")]] void copy_by_avx(std::byte* target, const std::byte* source, size_t size_bytes) {
  constexpr size_t kStep = 128;
  for (; size_bytes >= kStep; size_bytes -= kStep, target += kStep, source += kStep) {
    const auto* from = reinterpret_cast<const __m256i*>(source);
    auto* to = reinterpret_cast<__m256i*>(target);
    const __m256i a = _mm256_loadu_si256(from);
    const __m256i b = _mm256_loadu_si256(from + 1);
    const __m256i c = _mm256_loadu_si256(from + 2);
    const __m256i d = _mm256_loadu_si256(from + 3);
    _mm256_storeu_si256(to, a);
    _mm256_storeu_si256(to + 1, b);
    _mm256_storeu_si256(to + 2, c);
    _mm256_storeu_si256(to + 3, d);
  }
  if (size_bytes != 0) std::memcpy(target, source, size_bytes);
}

}  // namespace

void copy_by_vectors(std::byte* target, const std::byte* source, size_t size_bytes) {
  if (__builtin_cpu_supports("avx"))
    copy_by_avx(target, source, size_bytes);
  else
    std::memcpy(target, source, size_bytes);
}

#else

void copy_past_caches(std::byte* target, const std::byte* source, size_t size_bytes) {
  std::memcpy(target, source, size_bytes);
}

void copy_by_vectors(std::byte* target, const std::byte* source, size_t size_bytes) {
  std::memcpy(target, source, size_bytes);
}

#endif

}  // namespace plat::memory
