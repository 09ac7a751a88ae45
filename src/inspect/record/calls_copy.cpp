// SPDX-License-Identifier: Apache-2.0
// Copies, fills and stores.
#include "inspect/record/hook.h"

using Kind = aclrtMemcpyKind;

PLAT_HOOK(Before, aclrtMemcpy, (void* dst, size_t max, const void* src, size_t n, Kind kind),
          (dst, max, src, n, kind), V(dst), V(src), V(n), max - n, V(kind))
PLAT_HOOK(Before, aclrtMemcpyAsync,
          (void* dst, size_t max, const void* src, size_t n, Kind kind, aclrtStream stream),
          (dst, max, src, n, kind, stream), V(dst), V(src), V(n), max - n, V(kind), V(stream))
PLAT_HOOK(Before, aclrtMemcpyAsyncWithCondition,
          (void* dst, size_t max, const void* src, size_t n, Kind kind, aclrtStream stream),
          (dst, max, src, n, kind, stream), V(dst), V(src), V(n), max - n, V(kind), V(stream))
PLAT_HOOK(Before, aclrtMemcpyAsyncWithOffset,
          (void** dst, size_t max, size_t dst_offset, const void** src, size_t n, size_t src_offset,
           Kind kind, aclrtStream stream),
          (dst, max, dst_offset, src, n, src_offset, kind, stream), V(dst), V(src), V(n), max - n, V(kind),
          V(stream))
PLAT_HOOK(Before, aclrtMemcpy2d,
          (void* dst, size_t dpitch, const void* src, size_t spitch, size_t width, size_t height, Kind kind),
          (dst, dpitch, src, spitch, width, height, kind), V(dst), dpitch, V(src), spitch, width, height,
          V(kind))
PLAT_HOOK(Before, aclrtMemcpy2dAsync,
          (void* dst, size_t dpitch, const void* src, size_t spitch, size_t width, size_t height, Kind kind,
           aclrtStream stream),
          (dst, dpitch, src, spitch, width, height, kind, stream), V(dst), dpitch, V(src), spitch, width,
          height, V(kind), V(stream))
PLAT_HOOK(Before, aclrtSetMemcpyDesc, (void* desc, Kind kind, void* src, void* dst, size_t n, void* config),
          (desc, kind, src, dst, n, config), V(desc), V(dst), V(src), n)
PLAT_HOOK(Before, aclrtMemcpyAsyncWithDesc, (void* desc, Kind kind, aclrtStream stream), (desc, kind, stream),
          V(desc), V(stream))

PLAT_HOOK(Before, aclrtMemset, (void* p, size_t max, int32_t value, size_t n), (p, max, value, n), V(p), n,
          max - n)
PLAT_HOOK(Before, aclrtMemsetAsync, (void* p, size_t max, int32_t value, size_t n, aclrtStream stream),
          (p, max, value, n, stream), V(p), n, max - n, V(stream))
PLAT_HOOK(Before, aclrtMemsetD32, (void* p, size_t max, uint32_t value, size_t n), (p, max, value, n), V(p),
          n * 4, max - n * 4)
PLAT_HOOK(Before, aclrtMemsetD32Async, (void* p, size_t max, uint32_t value, size_t n, aclrtStream stream),
          (p, max, value, n, stream), V(p), n * 4, max - n * 4, V(stream))
PLAT_HOOK(Before, aclrtValueWrite, (void* p, uint64_t value, uint32_t flag, aclrtStream stream),
          (p, value, flag, stream), V(p), V(stream))
PLAT_HOOK(Before, aclrtValueWait, (void* p, uint64_t value, uint32_t flag, aclrtStream stream),
          (p, value, flag, stream), V(p), V(stream))
PLAT_HOOK(Before, aclrtCmoAsync, (void* p, size_t n, aclrtCmoType type, aclrtStream stream),
          (p, n, type, stream), V(p), n, V(stream))

PLAT_HOOK(Before, aclrtReduceAsync,
          (void* dst, const void* src, uint64_t n, aclrtReduceKind kind, aclDataType type, aclrtStream stream,
           void* reserve),
          (dst, src, n, kind, type, stream, reserve), V(dst), V(src), V(n), V(kind), V(type), V(stream))
PLAT_HOOK(Before, aclrtMemManagedPrefetchAsync,
          (const void* p, size_t n, aclrtMemManagedLocation place, uint32_t flags, aclrtStream stream),
          (p, n, place, flags, stream), V(p), V(n), V(place.type), V(place.id), V(stream))
