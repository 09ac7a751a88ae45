// SPDX-License-Identifier: Apache-2.0
// Copies of one range, of rows, and by descriptor. Batches are in copy_batch.cpp, fills in fill.cpp.
#include "acl/acl_rt_copy.h"
#include "acl/entry.h"
#include "acl/queue.h"

using namespace plat;
using plat::acl::entry;
using plat::acl::Runtime;
using plat::acl::want;
using plat::acl::want_size;
using plat::copy::Copies;
using plat::copy::CopyRequest;

namespace {

// The limits of rows and of their number.
constexpr size_t kWidthMax = 5000000;
constexpr size_t kHeightMax = 5_MiB;

// What is wrong with the arguments of a copy.
[[gnu::noinline]] Result<> blame_copy(const void* dst, size_t destMax, const void* src, size_t count,
                                      aclrtMemcpyKind kind) {
  PLAT_TRY(want(dst, "dst"));
  PLAT_TRY(want(src, "src"));
  if (static_cast<unsigned>(kind) > ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE)
    return fail(RuleId::ArgEnum, "kind", "kind is {}", static_cast<int>(kind));
  return fail(RuleId::CopyTooLong, "count", "count is {}, destMax is {}", count, destMax);
}

inline Result<> check_copy(const void* dst, size_t destMax, const void* src, size_t count,
                           aclrtMemcpyKind kind) {
  if (dst != nullptr && src != nullptr && static_cast<unsigned>(kind) <= ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE &&
      destMax != 0 && count <= destMax) [[likely]]
    return {};
  return blame_copy(dst, destMax, src, count, kind);
}

// What most copies are: with memory that this thread has copied with before. Does all that copy_now does, or
// nothing.
inline bool copy_again(void* dst, size_t destMax, const void* src, size_t count, aclrtMemcpyKind kind) {
  const Runtime* runtime = acl::detail::current.load(std::memory_order_acquire);
  if (runtime == nullptr) return false;
  const int device = runtime->streams.contexts().known_device();
  if (device < 0 || acl::is_stale_child() || fault::armed()) return false;
  if (dst == nullptr || src == nullptr || count > destMax ||
      static_cast<unsigned>(kind) > ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE)
    return false;
  return runtime->copies.now_again({va_of(dst), va_of(src), count, kind}, static_cast<uint32_t>(device));
}

[[gnu::noinline]] aclError copy_now(void* dst, size_t destMax, const void* src, size_t count,
                                    aclrtMemcpyKind kind) {
  return entry("aclrtMemcpy", [&](Runtime& runtime) -> Result<> {
    if (count == 0) return {};
    PLAT_TRY(check_copy(dst, destMax, src, count, kind));
    if (dst == src) return {};
    PLAT_ASSIGN(device, acl::current_device(runtime));
    return runtime.copies.now({va_of(dst), va_of(src), count, kind}, device);
  });
}

Result<> queue_copy(Runtime& runtime, void* dst, size_t destMax, const void* src, size_t count,
                    aclrtMemcpyKind kind, aclrtStream stream) {
  if (count == 0) return {};
  PLAT_TRY(check_copy(dst, destMax, src, count, kind));
  PLAT_ASSIGN(queue, acl::queue_of(runtime, stream));
  return runtime.copies.queue({va_of(dst), va_of(src), count, kind}, queue);
}

struct Rows {
  void* dst;
  size_t dpitch;
  const void* src;
  size_t spitch;
  size_t width;
  size_t height;
  aclrtMemcpyKind kind;

  bool empty() const { return width == 0 || height == 0; }
  copy::Mover::Area area() const { return {va_of(dst), dpitch, va_of(src), spitch, width, height}; }
};

Result<> check_rows(const Rows& rows) {
  PLAT_TRY(want(rows.dst, "dst"));
  PLAT_TRY(want(rows.src, "src"));
  if (rows.width > rows.spitch || rows.width > rows.dpitch)
    return fail(RuleId::CopyPitch, "width", "width is {}, dpitch is {}, spitch is {}", rows.width,
                rows.dpitch, rows.spitch);
  const int kind = static_cast<int>(rows.kind);
  if (kind < ACL_MEMCPY_HOST_TO_DEVICE || kind > ACL_MEMCPY_DEFAULT)
    return fail(RuleId::ArgEnum, "kind", "kind is {}", kind);
  const uint64_t pitch = std::max(rows.dpitch, rows.spitch);
  if (rows.width > kWidthMax || rows.height > kHeightMax || pitch > UINT64_MAX / rows.height)
    return fail(RuleId::CopyArea, "width", "{} rows of {} bytes at pitches of {} and {} bytes", rows.height,
                rows.width, rows.dpitch, rows.spitch);
  return {};
}

Result<> want_descriptor_kind(aclrtMemcpyKind kind) {
  if (kind == ACL_MEMCPY_INNER_DEVICE_TO_DEVICE) return {};
  return fail(RuleId::ArgEnum, "kind", "kind is {}, only ACL_MEMCPY_INNER_DEVICE_TO_DEVICE (6) is described",
              static_cast<int>(kind));
}

}  // namespace

extern "C" {

aclError aclrtMemcpy(void* dst, size_t destMax, const void* src, size_t count, aclrtMemcpyKind kind) {
  if (copy_again(dst, destMax, src, count, kind)) [[likely]]
    return ACL_SUCCESS;
  return copy_now(dst, destMax, src, count, kind);
}

aclError aclrtMemcpyAsync(void* dst, size_t destMax, const void* src, size_t count, aclrtMemcpyKind kind,
                          aclrtStream stream) {
  return acl::quick_entry("aclrtMemcpyAsync", [&](Runtime& runtime) {
    return queue_copy(runtime, dst, destMax, src, count, kind, stream);
  });
}

aclError aclrtMemcpyAsyncWithCondition(void* dst, size_t destMax, const void* src, size_t count,
                                       aclrtMemcpyKind kind, aclrtStream stream) {
  return entry("aclrtMemcpyAsyncWithCondition",
               [&](Runtime& runtime) { return queue_copy(runtime, dst, destMax, src, count, kind, stream); });
}

aclError aclrtMemcpyAsyncWithOffset(void** dst, size_t destMax, size_t dstDataOffset, const void** src,
                                    size_t count, size_t srcDataOffset, aclrtMemcpyKind kind,
                                    aclrtStream stream) {
  return entry("aclrtMemcpyAsyncWithOffset", [&](Runtime& runtime) -> Result<> {
    if (count == 0) return {};
    PLAT_TRY(check_copy(dst, destMax, src, count, kind));
    PLAT_ASSIGN(queue, acl::queue_of(runtime, stream));
    return runtime.copies.queue_indirect({va_of(dst), dstDataOffset, va_of(src), srcDataOffset, count},
                                         queue);
  });
}

aclError aclrtMemcpy2d(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width, size_t height,
                       aclrtMemcpyKind kind) {
  return entry("aclrtMemcpy2d", [&](Runtime& runtime) -> Result<> {
    const Rows rows{dst, dpitch, src, spitch, width, height, kind};
    if (rows.empty()) return {};
    PLAT_TRY(check_rows(rows));
    PLAT_ASSIGN(device, acl::current_device(runtime));
    return runtime.copies.now_2d(rows.area(), kind, device);
  });
}

aclError aclrtMemcpy2dAsync(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width,
                            size_t height, aclrtMemcpyKind kind, aclrtStream stream) {
  return entry("aclrtMemcpy2dAsync", [&](Runtime& runtime) -> Result<> {
    const Rows rows{dst, dpitch, src, spitch, width, height, kind};
    if (rows.empty()) return {};
    PLAT_TRY(check_rows(rows));
    PLAT_ASSIGN(queue, acl::queue_of(runtime, stream));
    return runtime.copies.queue_2d(rows.area(), kind, queue);
  });
}

aclError aclrtGetMemcpyDescSize(aclrtMemcpyKind kind, size_t* descSize) {
  return entry("aclrtGetMemcpyDescSize", [&](Runtime&) -> Result<> {
    PLAT_TRY(want_descriptor_kind(kind));
    PLAT_TRY(want(descSize, "descSize"));
    *descSize = sizeof(Copies::Descriptor);
    return {};
  });
}

aclError aclrtSetMemcpyDesc(void* desc, aclrtMemcpyKind kind, void* srcAddr, void* dstAddr, size_t count,
                            void* config) {
  return entry("aclrtSetMemcpyDesc", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(desc, "desc"));
    PLAT_TRY(want_descriptor_kind(kind));
    PLAT_TRY(want(srcAddr, "srcAddr"));
    PLAT_TRY(want(dstAddr, "dstAddr"));
    PLAT_TRY(want_size(count, "count"));
    PLAT_TRY(acl::want_zero(va_of(config).value, "config"));
    PLAT_ASSIGN(device, acl::current_device(runtime));
    return runtime.copies.write_descriptor(va_of(desc), va_of(srcAddr), va_of(dstAddr), count, device);
  });
}

aclError aclrtMemcpyAsyncWithDesc(void* desc, aclrtMemcpyKind kind, aclrtStream stream) {
  return entry("aclrtMemcpyAsyncWithDesc", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(desc, "desc"));
    PLAT_TRY(want_descriptor_kind(kind));
    PLAT_TRY(want(stream, "stream"));
    PLAT_ASSIGN(queue, acl::queue_of(runtime, stream));
    return runtime.copies.queue_described(va_of(desc), queue);
  });
}

}  // extern "C"
