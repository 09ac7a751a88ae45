// SPDX-License-Identifier: Apache-2.0
// Reductions in stream order.
#include "copy/reduce.h"

#include <utility>

#include "acl/acl_data.h"
#include "acl/acl_rt_copy.h"
#include "acl/entry.h"
#include "acl/queue.h"

using namespace plat;
using plat::acl::entry;
using plat::acl::Runtime;
using plat::acl::want;

namespace {

constexpr uint64_t kLargestSum = uint64_t{4} << 30;

bool is_known(aclDataType type) {
  switch (type) {
    case ACL_FLOAT:
    case ACL_FLOAT16:
    case ACL_INT16:
    case ACL_INT4:
    case ACL_INT8:
    case ACL_INT32:
    case ACL_BF16:
    case ACL_UINT8:
    case ACL_UINT16:
    case ACL_UINT32:
      return true;
    default:
      return false;
  }
}

uint64_t element_bytes(aclDataType type) {
  return type == ACL_FLOAT || type == ACL_INT32 || type == ACL_UINT32 ? 4
         : type == ACL_INT8 || type == ACL_UINT8 || type == ACL_INT4  ? 1
                                                                      : 2;
}

}  // namespace

extern "C" {

aclError aclrtReduceAsync(void* dst, const void* src, uint64_t count, aclrtReduceKind kind, aclDataType type,
                          aclrtStream stream, void* reserve) {
  return entry("aclrtReduceAsync", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(dst, "dst"));
    PLAT_TRY(want(src, "src"));
    if (reserve != nullptr) return fail(RuleId::ArgReserved, "reserve", "reserve is {}", fmt::ptr(reserve));
    if (!is_known(type)) return fail(RuleId::ArgEnum, "type", "type is {}", static_cast<int>(type));
    if (stream != nullptr) PLAT_TRY(runtime.streams.any_stream(stream::id_of<stream::StreamId>(stream)));
    const bool known_kind =
        kind >= ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM && kind <= ACL_RT_MEMCPY_SDMA_AUTOMATIC_EQUAL;
    const bool too_long = kind == ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM && count > kLargestSum;
    if (count == 0 || !known_kind || too_long || count % element_bytes(type) != 0)
      return fail(RuleId::ReduceArguments, known_kind ? "count" : "kind",
                  "count is {} bytes, kind is {}, type is {}", count, static_cast<int>(kind),
                  static_cast<int>(type));
    PLAT_ASSIGN(queue, acl::queue_of(runtime, stream));
    PLAT_TRY(runtime.streams.find_stream(queue.stream));
    if (!copy::can_reduce(runtime.node.product(), kind, type))
      return fail(RuleId::ProductSupport, "type", "{} does not reduce elements of type {} by kind {}",
                  runtime.node.product().soc_name, static_cast<int>(type), static_cast<int>(kind));
    for (const auto& [va, name] : {std::pair(va_of(dst), "dst"), std::pair(va_of(src), "src")})
      if (!runtime.locator.is_device_address(va))
        return fail(RuleId::ReduceArguments, name, "{:#x} is no device address", va.value);
    return queue.give([&mover = runtime.mover,
                       work = copy::Reduction{va_of(dst), va_of(src), count, kind, type},
                       device = queue.device]() { return copy::reduce(mover, work, device); });
  });
}

}  // extern "C"
