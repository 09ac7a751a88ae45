// SPDX-License-Identifier: Apache-2.0
// Managed memory: allocation, advice, prefetch, and what can be asked about it.
#include "acl/acl_rt_managed.h"

#include <vector>

#include "acl/current.h"
#include "acl/entry.h"
#include "acl/queue.h"

using namespace plat;
using plat::acl::entry;
using plat::acl::Runtime;
using plat::acl::want;
using plat::acl::want_size;
using plat::acl::want_zero;

namespace {

Result<> want_product(Runtime& runtime, bool has_it) {
  if (has_it) return {};
  return fail(RuleId::ProductSupport, "", "{} ({}) has no managed memory", runtime.node.product().soc_name,
              runtime.node.product().name);
}

Result<> check_device(Runtime& runtime, const aclrtMemManagedLocation& location, std::string_view parameter) {
  if (location.type != ACL_MEM_LOCATIONTYPE_DEVICE ||
      (location.id >= 0 && static_cast<uint32_t>(location.id) < runtime.node.visible_count()))
    return {};
  return fail(RuleId::ManagedArguments, parameter, "{} is device {}, {} device(s) are visible", parameter,
              location.id, runtime.node.visible_count());
}

Result<> check_attribute(aclrtMemManagedRangeAttribute attribute, std::string_view parameter) {
  if (attribute >= ACL_MEM_RANGE_ATTRIBUTE_READ_MOSTLY &&
      attribute <= ACL_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID)
    return {};
  return fail(RuleId::ManagedArguments, parameter, "{} is {}", parameter, static_cast<int>(attribute));
}

Result<> read_attribute(Runtime& runtime, aclrtMemManagedRangeAttribute attribute, const void* ptr,
                        size_t size, void* data, size_t data_bytes) {
  const bool is_list = attribute == ACL_MEM_RANGE_ATTRIBUTE_ACCESSED_BY;
  const size_t word = sizeof(int32_t);
  if (is_list ? data_bytes == 0 || data_bytes % word != 0 : data_bytes != word)
    return fail(RuleId::ManagedData, "dataSize", "dataSize is {} for attribute {}", data_bytes,
                static_cast<int>(attribute));
  return runtime.managed.attribute(attribute, va_of(ptr), size,
                                   {static_cast<int32_t*>(data), data_bytes / word});
}

// The driver's interface does not look for the default stream of a thread that has none.
Result<copy::Copies::Queue> queue_for_prefetch(Runtime& runtime, aclrtStream stream) {
  if (stream == nullptr && !acl::current_device(runtime))
    return fail(RuleId::ManagedStream, "stream", "stream is null, and the thread has no context");
  return acl::queue_of(runtime, stream);
}

Result<> queue_prefetch(Runtime& runtime, const copy::Copies::Queue& queue, const void* ptr, size_t size,
                        aclrtMemManagedLocation location) {
  return queue.give([&managed = runtime.managed, start = va_of(ptr), size, location]() -> Result<> {
    return managed.prefetch(start, size, location);
  });
}

// Which of the places holds for a range: they change at the given indexes.
Result<> check_places(Runtime& runtime, const aclrtMemManagedLocation* places, const size_t* indexes,
                      size_t place_count, size_t range_count) {
  for (size_t k = 0; k < place_count; ++k) {
    if ((k == 0 && indexes[0] != 0) || indexes[k] >= range_count || (k > 0 && indexes[k] <= indexes[k - 1]))
      return fail(RuleId::ManagedArguments, fmt::format("prefetchLocIdxs[{}]", k), "index {} of {} ranges",
                  indexes[k], range_count);
    PLAT_TRY(check_device(runtime, places[k], fmt::format("prefetchLocs[{}].id", k)));
  }
  return {};
}

}  // namespace

extern "C" {

aclError aclrtMemAllocManaged(void** ptr, uint64_t size, uint32_t flag) {
  return entry("aclrtMemAllocManaged", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(ptr, "ptr"));
    if (flag != ACL_RT_MEM_ATTACH_GLOBAL)
      return fail(RuleId::ArgEnum, "flag", "flag is {}, only ACL_RT_MEM_ATTACH_GLOBAL (1) is known", flag);
    if (size == 0) return fail(RuleId::ManagedArguments, "size", "size is 0");
    PLAT_TRY(acl::current_device(runtime));
    PLAT_TRY(want_product(runtime, device::has_managed_memory(runtime.node.product())));
    PLAT_ASSIGN(start, runtime.managed.allocate(size));
    *ptr = pointer_of(start);
    return {};
  });
}

aclError aclrtMemManagedAdvise(const void* const ptr, uint64_t size, aclrtMemManagedAdviseType advise,
                               aclrtMemManagedLocation location) {
  return entry("aclrtMemManagedAdvise", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(ptr, "ptr"));
    PLAT_TRY(want_size(size, "size"));
    if (static_cast<unsigned>(advise) > ACL_MEM_ADVISE_UNSET_ACCESSED_BY)
      return fail(RuleId::ManagedArguments, "advise", "advise is {}", static_cast<int>(advise));
    PLAT_TRY(check_device(runtime, location, "location.id"));
    PLAT_TRY(acl::current_device(runtime));
    PLAT_TRY(want_product(runtime, device::has_managed_advice(runtime.node.product())));
    return runtime.managed.advise(va_of(ptr), size, advise, location);
  });
}

aclError aclrtMemManagedGetAttr(aclrtMemManagedRangeAttribute attribute, const void* ptr, size_t size,
                                void* data, size_t dataSize) {
  return entry("aclrtMemManagedGetAttr", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(ptr, "ptr"));
    PLAT_TRY(want(data, "data"));
    PLAT_TRY(want_size(size, "size"));
    PLAT_TRY(check_attribute(attribute, "attribute"));
    PLAT_TRY(want_product(runtime, device::has_managed_advice(runtime.node.product())));
    return read_attribute(runtime, attribute, ptr, size, data, dataSize);
  });
}

aclError aclrtMemManagedGetAttrs(aclrtMemManagedRangeAttribute* attributes, size_t numAttributes,
                                 const void* ptr, size_t size, void** data, size_t* dataSizes) {
  return entry("aclrtMemManagedGetAttrs", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(ptr, "ptr"));
    PLAT_TRY(want(attributes, "attributes"));
    PLAT_TRY(want(data, "data"));
    PLAT_TRY(want(dataSizes, "dataSizes"));
    PLAT_TRY(want_size(size, "size"));
    for (size_t i = 0; i < numAttributes; ++i) {
      PLAT_TRY(check_attribute(attributes[i], fmt::format("attributes[{}]", i)));
      PLAT_TRY(want(data[i], "data[i]"));
    }
    PLAT_TRY(want_product(runtime, device::has_managed_advice(runtime.node.product())));
    for (size_t i = 0; i < numAttributes; ++i)
      PLAT_TRY(read_attribute(runtime, attributes[i], ptr, size, data[i], dataSizes[i]));
    return {};
  });
}

aclError aclrtMemManagedPrefetchAsync(const void* ptr, size_t size, aclrtMemManagedLocation location,
                                      uint32_t flags, aclrtStream stream) {
  return entry("aclrtMemManagedPrefetchAsync", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(ptr, "ptr"));
    PLAT_TRY(want_size(size, "size"));
    PLAT_TRY(want_zero(flags, "flags"));
    PLAT_ASSIGN(queue, queue_for_prefetch(runtime, stream));
    PLAT_TRY(check_device(runtime, location, "location.id"));
    PLAT_TRY(want_product(runtime, device::has_managed_memory(runtime.node.product())));
    return queue_prefetch(runtime, queue, ptr, size, location);
  });
}

aclError aclrtMemManagedPrefetchBatchAsync(const void** ptrs, size_t* sizes, size_t count,
                                           aclrtMemManagedLocation* prefetchLocs, size_t* prefetchLocIdxs,
                                           size_t numPrefetchLocs, uint64_t flags, aclrtStream stream) {
  return entry("aclrtMemManagedPrefetchBatchAsync", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(ptrs, "ptrs"));
    PLAT_TRY(want(sizes, "sizes"));
    PLAT_TRY(want(prefetchLocs, "prefetchLocs"));
    PLAT_TRY(want(prefetchLocIdxs, "prefetchLocIdxs"));
    PLAT_TRY(want_size(count, "count"));
    PLAT_TRY(want_size(numPrefetchLocs, "numPrefetchLocs"));
    PLAT_TRY(want_zero(flags, "flags"));
    if (count < numPrefetchLocs)
      return fail(RuleId::ArgReserved, "numPrefetchLocs", "{} places for {} ranges", numPrefetchLocs, count);
    PLAT_TRY(check_places(runtime, prefetchLocs, prefetchLocIdxs, numPrefetchLocs, count));
    for (size_t i = 0; i < count; ++i)
      if (ptrs[i] == nullptr)
        return fail(RuleId::ManagedArguments, fmt::format("ptrs[{}]", i), "ptrs[{}] is null", i);
    PLAT_ASSIGN(queue, queue_for_prefetch(runtime, stream));
    PLAT_TRY(want_product(runtime, device::has_managed_memory(runtime.node.product())));
    for (size_t i = 0, k = 0; i < count; ++i) {
      while (k + 1 < numPrefetchLocs && prefetchLocIdxs[k + 1] <= i) ++k;
      PLAT_TRY(queue_prefetch(runtime, queue, ptrs[i], sizes[i], prefetchLocs[k]));
    }
    return {};
  });
}

}  // extern "C"
