// SPDX-License-Identifier: Apache-2.0
// Host functions and callbacks in stream order.
#include <pthread.h>

#include "acl/acl_rt_callback.h"
#include "acl/entry.h"
#include "stream/streams.h"

using namespace plat;
using plat::acl::entry;
using plat::acl::Runtime;
using plat::stream::StreamId;

extern "C" {

aclError aclrtLaunchCallback(aclrtCallback fn, void* userData, aclrtCallbackBlockType blockType,
                             aclrtStream stream) {
  return entry("aclrtLaunchCallback", [&](Runtime& runtime) -> Result<> {
    if (blockType != ACL_CALLBACK_BLOCK && blockType != ACL_CALLBACK_NO_BLOCK)
      return fail(RuleId::ArgEnum, "blockType", "blockType is {}", static_cast<int>(blockType));
    return runtime.streams.callbacks().launch(stream::id_of<StreamId>(stream), fn, userData,
                                              blockType == ACL_CALLBACK_BLOCK);
  });
}

aclError aclrtSubscribeReport(uint64_t threadId, aclrtStream stream) {
  return entry("aclrtSubscribeReport", [&](Runtime& runtime) {
    return runtime.streams.callbacks().subscribe(threadId, stream::id_of<StreamId>(stream));
  });
}

aclError aclrtProcessReport(int32_t timeout) {
  // Clients name a thread by what pthread_create gave them.
  return entry("aclrtProcessReport", [&](Runtime& runtime) {
    return runtime.streams.callbacks().process(static_cast<uint64_t>(pthread_self()), timeout);
  });
}

aclError aclrtUnSubscribeReport(uint64_t threadId, aclrtStream stream) {
  return entry("aclrtUnSubscribeReport", [&](Runtime& runtime) {
    return runtime.streams.callbacks().unsubscribe(threadId, stream::id_of<StreamId>(stream));
  });
}

aclError aclrtLaunchHostFunc(aclrtStream stream, aclrtHostFunc fn, void* args) {
  return entry("aclrtLaunchHostFunc", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(runtime.streams.launch_host_function(stream::id_of<StreamId>(stream), fn, args));
    return {};
  });
}

}  // extern "C"
