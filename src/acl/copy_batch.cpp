// SPDX-License-Identifier: Apache-2.0
// Copies of many ranges in one call, all in one direction.
#include <vector>

#include "acl/acl_rt_copy.h"
#include "acl/entry.h"
#include "acl/queue.h"

using namespace plat;
using plat::acl::entry;
using plat::acl::Runtime;
using plat::acl::want;
using plat::copy::Copies;
using plat::copy::CopyRequest;

namespace {

constexpr size_t kSyncMax = 4096;

struct Arguments {
  void** dsts;
  size_t* destMaxs;
  void** srcs;
  size_t* sizes;
  size_t numBatches;
  aclrtMemcpyBatchAttr* attrs;
  size_t* attrsIndexes;
  size_t numAttrs;
};

Result<> check_arrays(const Arguments& given, size_t& failed) {
  PLAT_TRY(want(given.dsts, "dsts"));
  PLAT_TRY(want(given.destMaxs, "destMaxs"));
  PLAT_TRY(want(given.srcs, "srcs"));
  PLAT_TRY(want(given.sizes, "sizes"));
  PLAT_TRY(want(given.attrs, "attrs"));
  PLAT_TRY(want(given.attrsIndexes, "attrsIndexes"));
  PLAT_TRY(acl::want_size(given.numBatches, "numBatches"));
  for (size_t i = 0; i < given.numBatches; ++i) {
    failed = i;
    if (given.sizes[i] > given.destMaxs[i])
      return fail(RuleId::BatchRoom, fmt::format("sizes[{}]", i), "size is {}, destMax is {}", given.sizes[i],
                  given.destMaxs[i]);
    if (given.sizes[i] == 0) continue;
    PLAT_TRY(want(given.dsts[i], "dsts"));
    PLAT_TRY(want(given.srcs[i], "srcs"));
  }
  failed = SIZE_MAX;
  for (size_t k = 0; k < given.numAttrs; ++k)
    for (const uint8_t byte : given.attrs[k].rsv) PLAT_TRY(acl::want_zero(byte, "attrs.rsv"));
  return {};
}

Result<> check_indexes(const Arguments& given) {
  bool in_order = given.numAttrs > 0 && given.numAttrs <= given.numBatches && given.attrsIndexes[0] == 0;
  for (size_t k = 1; in_order && k < given.numAttrs; ++k)
    in_order = given.attrsIndexes[k] > given.attrsIndexes[k - 1] && given.attrsIndexes[k] < given.numBatches;
  if (in_order) return {};
  return fail(RuleId::BatchAttributes, "attrsIndexes", "{} attributes for {} entries", given.numAttrs,
              given.numBatches);
}

// The one direction that all attributes name.
Result<bool> goes_to_device(const Arguments& given) {
  const auto is_device = [](const aclrtMemLocation& at) { return at.type == ACL_MEM_LOCATION_TYPE_DEVICE; };
  const auto is_host = [](const aclrtMemLocation& at) { return at.type == ACL_MEM_LOCATION_TYPE_HOST; };
  const bool first = is_device(given.attrs[0].dstLoc);
  for (size_t k = 0; k < given.numAttrs; ++k) {
    const aclrtMemLocation& on_device = first ? given.attrs[k].dstLoc : given.attrs[k].srcLoc;
    const aclrtMemLocation& on_host = first ? given.attrs[k].srcLoc : given.attrs[k].dstLoc;
    if (!is_device(on_device) || !is_host(on_host))
      return fail(RuleId::BatchDirection, fmt::format("attrs[{}]", k),
                  "the batch begins {}, this attribute has srcLoc.type {} and dstLoc.type {}",
                  first ? "to the device" : "to the host", static_cast<int>(given.attrs[k].srcLoc.type),
                  static_cast<int>(given.attrs[k].dstLoc.type));
  }
  return first;
}

// `failed` counts the entries that are copied, so it is translated back to the caller's numbers.
template <class Run>
Result<> run(const Arguments& given, bool sync, size_t* failIndex, const Run& body) {
  size_t failed = SIZE_MAX;
  if (failIndex != nullptr) *failIndex = SIZE_MAX;
  auto result = [&]() -> Result<> {
    PLAT_TRY(check_arrays(given, failed));
    std::vector<CopyRequest> entries;
    std::vector<size_t> numbers;
    for (size_t i = 0; i < given.numBatches; ++i) {
      if (given.sizes[i] == 0) continue;
      entries.push_back({va_of(given.dsts[i]), va_of(given.srcs[i]), given.sizes[i], ACL_MEMCPY_DEFAULT});
      numbers.push_back(i);
    }
    if (entries.empty()) return {};
    PLAT_TRY(check_indexes(given));
    if (sync && given.numBatches > kSyncMax)
      return fail(RuleId::BatchLimit, "numBatches", "numBatches is {}", given.numBatches);
    PLAT_ASSIGN(to_device, goes_to_device(given));
    Result<> done = body(Copies::Batch{entries, to_device}, failed);
    if (failed < numbers.size()) failed = numbers[failed];
    return done;
  }();
  if (!result && failIndex != nullptr) *failIndex = failed;
  return result;
}

Result<> copy_now(Runtime& runtime, const Arguments& given, size_t* failIndex) {
  return run(given, true, failIndex, [&](const Copies::Batch& batch, size_t& failed) -> Result<> {
    PLAT_ASSIGN(device, acl::current_device(runtime));
    return runtime.copies.now_batch(batch, device, failed);
  });
}

Result<> copy_queued(Runtime& runtime, const Arguments& given, size_t* failIndex, aclrtStream stream) {
  return run(given, false, failIndex, [&](const Copies::Batch& batch, size_t& failed) -> Result<> {
    PLAT_ASSIGN(queue, acl::queue_of(runtime, stream));
    return runtime.copies.queue_batch(batch, queue, failed);
  });
}

}  // namespace

extern "C" {

aclError aclrtMemcpyBatch(void** dsts, size_t* destMaxs, void** srcs, size_t* sizes, size_t numBatches,
                          aclrtMemcpyBatchAttr* attrs, size_t* attrsIndexes, size_t numAttrs,
                          size_t* failIndex) {
  return entry("aclrtMemcpyBatch", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(failIndex, "failIndex"));
    return copy_now(runtime, {dsts, destMaxs, srcs, sizes, numBatches, attrs, attrsIndexes, numAttrs},
                    failIndex);
  });
}

aclError aclrtMemcpyBatchAsync(void** dsts, size_t* destMaxs, void** srcs, size_t* sizes, size_t numBatches,
                               aclrtMemcpyBatchAttr* attrs, size_t* attrsIndexes, size_t numAttrs,
                               size_t* failIndex, aclrtStream stream) {
  return entry("aclrtMemcpyBatchAsync", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(failIndex, "failIndex"));
    return copy_queued(runtime, {dsts, destMaxs, srcs, sizes, numBatches, attrs, attrsIndexes, numAttrs},
                       failIndex, stream);
  });
}

aclError aclrtMemcpyBatchV2(void** dsts, size_t* destMaxs, void** srcs, size_t* sizes, size_t numBatches,
                            aclrtMemcpyBatchAttr* attrs, size_t* attrsIndexes, size_t numAttrs) {
  return entry("aclrtMemcpyBatchV2", [&](Runtime& runtime) {
    return copy_now(runtime, {dsts, destMaxs, srcs, sizes, numBatches, attrs, attrsIndexes, numAttrs},
                    nullptr);
  });
}

aclError aclrtMemcpyBatchAsyncV2(void** dsts, size_t* destMaxs, void** srcs, size_t* sizes, size_t numBatches,
                                 aclrtMemcpyBatchAttr* attrs, size_t* attrsIndexes, size_t numAttrs,
                                 aclrtStream stream) {
  return entry("aclrtMemcpyBatchAsyncV2", [&](Runtime& runtime) {
    return copy_queued(runtime, {dsts, destMaxs, srcs, sizes, numBatches, attrs, attrsIndexes, numAttrs},
                       nullptr, stream);
  });
}

}  // extern "C"
