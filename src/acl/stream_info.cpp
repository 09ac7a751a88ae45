// SPDX-License-Identifier: Apache-2.0
// What streams are: numbers, priorities, flags, and how many more there can be.
#include "acl/acl_rt_stream.h"
#include "acl/entry.h"

using namespace plat;
using plat::acl::entry;
using plat::acl::Runtime;
using plat::acl::want;
using plat::stream::StreamId;

namespace {

// A stream of whichever context, for calls that need a context all the same. The handle is looked at first.
Result<std::shared_ptr<stream::Stream>> in_context(const Runtime& runtime, aclrtStream stream) {
  PLAT_ASSIGN(found, runtime.streams.any_stream(stream::id_of<StreamId>(stream)));
  PLAT_TRY(runtime.streams.contexts().current_id());
  return found;
}

}  // namespace

extern "C" {

aclError aclrtStreamGetId(aclrtStream stream, int32_t* streamId) {
  return entry("aclrtStreamGetId", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(streamId, "streamId"));
    PLAT_ASSIGN(found, runtime.streams.any_stream(stream::id_of<StreamId>(stream)));
    *streamId = static_cast<int32_t>(stream::Streams::number_of(found->traits().id));
    return {};
  });
}

aclError aclrtStreamGetPriority(aclrtStream stream, uint32_t* priority) {
  return entry("aclrtStreamGetPriority", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(priority, "priority"));
    PLAT_ASSIGN(found, in_context(runtime, stream));
    *priority = found->settings().priority();
    return {};
  });
}

aclError aclrtStreamGetFlags(aclrtStream stream, uint32_t* flags) {
  return entry("aclrtStreamGetFlags", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(flags, "flags"));
    PLAT_ASSIGN(found, in_context(runtime, stream));
    *flags = found->traits().flags;
    return {};
  });
}

aclError aclrtDeviceGetStreamPriorityRange(int32_t* leastPriority, int32_t* greatestPriority) {
  return entry("aclrtDeviceGetStreamPriorityRange", [&](Runtime&) -> Result<> {
    if (leastPriority != nullptr) *leastPriority = int32_t{stream::kPriorityLowest};
    if (greatestPriority != nullptr) *greatestPriority = int32_t{stream::kPriorityHighest};
    return {};
  });
}

aclError aclrtGetStreamAvailableNum(uint32_t* streamCount) {
  return entry("aclrtGetStreamAvailableNum", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(streamCount, "streamCount"));
    PLAT_ASSIGN(count, runtime.streams.available());
    *streamCount = count;
    return {};
  });
}

}  // extern "C"
