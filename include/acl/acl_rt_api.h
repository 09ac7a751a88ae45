// SPDX-License-Identifier: Apache-2.0
// For C++: calls of acl_rt.h by shorter names, and with pointers to elements. Nothing of this is in the
// library; each passes its arguments on, and all sizes are in bytes.
#pragma once

#include "acl_rt.h"

#ifdef __cplusplus

// Calls that have a longer name in C.

inline aclError aclrtSynchronizeDevice(int32_t timeout) { return aclrtSynchronizeDeviceWithTimeout(timeout); }

inline aclError aclrtSynchronizeStream(aclrtStream stream, int32_t timeout) {
  return aclrtSynchronizeStreamWithTimeout(stream, timeout);
}

inline aclError aclrtSynchronizeEvent(aclrtEvent event, int32_t timeout) {
  return aclrtSynchronizeEventWithTimeout(event, timeout);
}

inline aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event, int32_t timeout) {
  return aclrtStreamWaitEventWithTimeout(stream, event, timeout);
}

inline aclError aclrtCreateStream(aclrtStream* stream, uint32_t priority, uint32_t flag) {
  return aclrtCreateStreamWithConfig(stream, priority, flag);
}

inline aclError aclrtCreateEvent(aclrtEvent* event, uint32_t flag) {
  return aclrtCreateEventExWithFlag(event, flag);
}

// Memory.

template <typename T>
aclError aclrtMalloc(T** devPtr, size_t size, aclrtMallocConfig* cfg = nullptr) {
  return aclrtMallocWithCfg(reinterpret_cast<void**>(devPtr), size, ACL_MEM_MALLOC_HUGE_FIRST, cfg);
}

template <typename T>
aclError aclrtMalloc(T** devPtr, size_t size, aclrtMemMallocPolicy policy, aclrtMallocConfig* cfg = nullptr) {
  return aclrtMallocWithCfg(reinterpret_cast<void**>(devPtr), size, policy, cfg);
}

template <typename T>
aclError aclrtMallocHost(T** hostPtr, size_t size, aclrtMallocConfig* cfg = nullptr) {
  return aclrtMallocHostWithCfg(reinterpret_cast<void**>(hostPtr), size, cfg);
}

template <typename T>
aclError aclrtHostRegister(T* ptr, uint64_t size, aclrtHostRegisterType type, T** devPtr) {
  return aclrtHostRegister(static_cast<void*>(ptr), size, type, reinterpret_cast<void**>(devPtr));
}

template <typename T>
aclError aclrtHostRegister(T* ptr, uint64_t size, uint32_t flag) {
  return aclrtHostRegisterV2(ptr, size, flag);
}

template <typename T>
aclError aclrtHostGetDevicePointer(T* pHost, T** pDevice, uint32_t flag) {
  return aclrtHostGetDevicePointer(static_cast<void*>(pHost), reinterpret_cast<void**>(pDevice), flag);
}

template <typename T>
aclError aclrtHostUnregister(T* ptr) {
  return aclrtHostUnregister(static_cast<void*>(ptr));
}

template <typename T>
aclError aclrtPointerGetAttributes(const T* ptr, aclrtPtrAttributes* attributes) {
  return aclrtPointerGetAttributes(static_cast<const void*>(ptr), attributes);
}

// Copies.

template <typename T, typename U>
aclError aclrtMemcpy(T* dst, size_t destMax, const U* src, size_t count, aclrtMemcpyKind kind) {
  return aclrtMemcpy(static_cast<void*>(dst), destMax, static_cast<const void*>(src), count, kind);
}

template <typename T, typename U>
aclError aclrtMemcpyAsync(T* dst, size_t destMax, const U* src, size_t count, aclrtMemcpyKind kind,
                          aclrtStream stream) {
  return aclrtMemcpyAsync(static_cast<void*>(dst), destMax, static_cast<const void*>(src), count, kind,
                          stream);
}

template <typename T, typename U>
aclError aclrtMemcpy2d(T* dst, size_t dpitch, const U* src, size_t spitch, size_t width, size_t height,
                       aclrtMemcpyKind kind) {
  return aclrtMemcpy2d(static_cast<void*>(dst), dpitch, static_cast<const void*>(src), spitch, width, height,
                       kind);
}

template <typename T, typename U>
aclError aclrtMemcpy2dAsync(T* dst, size_t dpitch, const U* src, size_t spitch, size_t width, size_t height,
                            aclrtMemcpyKind kind, aclrtStream stream) {
  return aclrtMemcpy2dAsync(static_cast<void*>(dst), dpitch, static_cast<const void*>(src), spitch, width,
                            height, kind, stream);
}

template <typename T, typename U>
aclError aclrtMemcpyBatch(T** dsts, size_t* destMaxs, U** srcs, size_t* sizes, size_t numBatches,
                          aclrtMemcpyBatchAttr* attrs, size_t* attrsIndexes, size_t numAttrs) {
  return aclrtMemcpyBatchV2(reinterpret_cast<void**>(dsts), destMaxs,
                            const_cast<void**>(reinterpret_cast<const void* const*>(srcs)), sizes, numBatches,
                            attrs, attrsIndexes, numAttrs);
}

// One attribute for all.
template <typename T, typename U>
aclError aclrtMemcpyBatch(T** dsts, size_t* destMaxs, U** srcs, size_t* sizes, size_t numBatches,
                          aclrtMemcpyBatchAttr attr) {
  size_t first = 0;
  return aclrtMemcpyBatch(dsts, destMaxs, srcs, sizes, numBatches, &attr, &first, size_t{1});
}

template <typename T, typename U>
aclError aclrtMemcpyBatchAsync(T** dsts, size_t* destMaxs, U** srcs, size_t* sizes, size_t numBatches,
                               aclrtMemcpyBatchAttr* attrs, size_t* attrsIndexes, size_t numAttrs,
                               aclrtStream stream) {
  return aclrtMemcpyBatchAsyncV2(reinterpret_cast<void**>(dsts), destMaxs,
                                 const_cast<void**>(reinterpret_cast<const void* const*>(srcs)), sizes,
                                 numBatches, attrs, attrsIndexes, numAttrs, stream);
}

template <typename T, typename U>
aclError aclrtMemcpyBatchAsync(T** dsts, size_t* destMaxs, U** srcs, size_t* sizes, size_t numBatches,
                               aclrtMemcpyBatchAttr attr, aclrtStream stream) {
  size_t first = 0;
  return aclrtMemcpyBatchAsync(dsts, destMaxs, srcs, sizes, numBatches, &attr, &first, size_t{1}, stream);
}

// Managed memory.

template <typename T>
aclError aclrtMemAllocManaged(T** devPtr, size_t size, uint32_t flags = ACL_RT_MEM_ATTACH_GLOBAL) {
  return aclrtMemAllocManaged(reinterpret_cast<void**>(devPtr), static_cast<uint64_t>(size), flags);
}

template <typename T>
aclError aclrtMemManagedPrefetchAsync(const T* ptr, size_t size, aclrtMemManagedLocation location,
                                      uint32_t flags, aclrtStream stream) {
  return aclrtMemManagedPrefetchAsync(static_cast<const void*>(ptr), size, location, flags, stream);
}

template <typename T>
aclError aclrtMemManagedPrefetchBatchAsync(const T** ptrs, size_t* sizes, size_t count,
                                           aclrtMemManagedLocation* prefetchLocs, size_t* prefetchLocIdxs,
                                           size_t numPrefetchLocs, uint64_t flags, aclrtStream stream) {
  return aclrtMemManagedPrefetchBatchAsync(reinterpret_cast<const void**>(ptrs), sizes, count, prefetchLocs,
                                           prefetchLocIdxs, numPrefetchLocs, flags, stream);
}

// One location for all.
template <typename T>
aclError aclrtMemManagedPrefetchBatchAsync(const T** ptrs, size_t* sizes, size_t count,
                                           aclrtMemManagedLocation prefetchLoc, uint64_t flags,
                                           aclrtStream stream) {
  size_t first = 0;
  return aclrtMemManagedPrefetchBatchAsync(reinterpret_cast<const void**>(ptrs), sizes, count, &prefetchLoc,
                                           &first, size_t{1}, flags, stream);
}

#endif
