// SPDX-License-Identifier: Apache-2.0
// The switch of a stream that makes its work watch for overflows. Nothing computes here, so it is only kept.
#include "acl/acl_rt_stream.h"
#include "acl/entry.h"

using namespace plat;
using plat::acl::entry;
using plat::acl::Runtime;
using plat::acl::want;
using plat::stream::StreamId;

extern "C" {

aclError aclrtSetStreamOverflowSwitch(aclrtStream stream, uint32_t flag) {
  return entry("aclrtSetStreamOverflowSwitch", [&](Runtime& runtime) -> Result<> {
    if (flag > 1)
      return fail(RuleId::ArgReserved, "flag", "flag is {}, only 0 (off) and 1 (on) are known", flag);
    if (!runtime.node.product().hardware_scheduler) return {};
    PLAT_ASSIGN(found, runtime.streams.find_stream(stream::id_of<StreamId>(stream)));
    found->settings().watch_overflow(flag == 1);
    return {};
  });
}

aclError aclrtGetStreamOverflowSwitch(aclrtStream stream, uint32_t* flag) {
  return entry("aclrtGetStreamOverflowSwitch", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(flag, "flag"));
    PLAT_ASSIGN(found, runtime.streams.find_stream(stream::id_of<StreamId>(stream)));
    *flag = !runtime.node.product().hardware_scheduler || found->settings().watches_overflow() ? 1 : 0;
    return {};
  });
}

}  // extern "C"
