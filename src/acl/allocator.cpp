// SPDX-License-Identifier: Apache-2.0
// Allocators of the client's own, registered on streams.
#include "acl/acl_rt_allocator.h"

#include "acl/entry.h"
#include "acl/queue.h"

using namespace plat;
using plat::acl::entry;
using plat::acl::Runtime;
using plat::acl::want;
using plat::malloc::AllocatorDescription;

namespace {

template <class Change>
Result<> edit(Runtime& runtime, aclrtAllocatorDesc desc, const void* value, const char* parameter,
              const Change& change) {
  PLAT_TRY(want(desc, "allocatorDesc"));
  PLAT_TRY(want(value, parameter));
  return runtime.allocators.edit(va_of(desc).value, change);
}

}  // namespace

extern "C" {

aclrtAllocatorDesc aclrtAllocatorCreateDesc() {
  aclrtAllocatorDesc made = nullptr;
  entry("aclrtAllocatorCreateDesc", [&](Runtime& runtime) -> Result<> {
    made = pointer_of(Va{runtime.allocators.create()});
    return {};
  });
  return made;
}

aclError aclrtAllocatorDestroyDesc(aclrtAllocatorDesc allocatorDesc) {
  return entry("aclrtAllocatorDestroyDesc", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(allocatorDesc, "allocatorDesc"));
    return runtime.allocators.destroy(va_of(allocatorDesc).value);
  });
}

aclError aclrtAllocatorSetObjToDesc(aclrtAllocatorDesc allocatorDesc, aclrtAllocator allocator) {
  return entry("aclrtAllocatorSetObjToDesc", [&](Runtime& runtime) {
    return edit(runtime, allocatorDesc, allocator, "allocator",
                [&](AllocatorDescription& description) { description.object = allocator; });
  });
}

aclError aclrtAllocatorSetAllocFuncToDesc(aclrtAllocatorDesc allocatorDesc, aclrtAllocatorAllocFunc func) {
  return entry("aclrtAllocatorSetAllocFuncToDesc", [&](Runtime& runtime) {
    return edit(runtime, allocatorDesc, reinterpret_cast<void*>(func), "func",
                [&](AllocatorDescription& description) { description.allocate = func; });
  });
}

aclError aclrtAllocatorSetFreeFuncToDesc(aclrtAllocatorDesc allocatorDesc, aclrtAllocatorFreeFunc func) {
  return entry("aclrtAllocatorSetFreeFuncToDesc", [&](Runtime& runtime) {
    return edit(runtime, allocatorDesc, reinterpret_cast<void*>(func), "func",
                [&](AllocatorDescription& description) { description.free = func; });
  });
}

aclError aclrtAllocatorSetAllocAdviseFuncToDesc(aclrtAllocatorDesc allocatorDesc,
                                                aclrtAllocatorAllocAdviseFunc func) {
  return entry("aclrtAllocatorSetAllocAdviseFuncToDesc", [&](Runtime& runtime) {
    return edit(runtime, allocatorDesc, reinterpret_cast<void*>(func), "func",
                [&](AllocatorDescription& description) { description.allocate_near = func; });
  });
}

aclError aclrtAllocatorSetGetAddrFromBlockFuncToDesc(aclrtAllocatorDesc allocatorDesc,
                                                     aclrtAllocatorGetAddrFromBlockFunc func) {
  return entry("aclrtAllocatorSetGetAddrFromBlockFuncToDesc", [&](Runtime& runtime) {
    return edit(runtime, allocatorDesc, reinterpret_cast<void*>(func), "func",
                [&](AllocatorDescription& description) { description.address = func; });
  });
}

aclError aclrtAllocatorRegister(aclrtStream stream, aclrtAllocatorDesc allocatorDesc) {
  return entry("aclrtAllocatorRegister", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(stream, "stream"));
    PLAT_TRY(want(allocatorDesc, "allocatorDesc"));
    return runtime.allocators.add(va_of(stream).value, va_of(allocatorDesc).value);
  });
}

aclError aclrtAllocatorGetByStream(aclrtStream stream, aclrtAllocatorDesc* allocatorDesc,
                                   aclrtAllocator* allocator, aclrtAllocatorAllocFunc* allocFunc,
                                   aclrtAllocatorFreeFunc* freeFunc,
                                   aclrtAllocatorAllocAdviseFunc* allocAdviseFunc,
                                   aclrtAllocatorGetAddrFromBlockFunc* getAddrFromBlockFunc) {
  return entry("aclrtAllocatorGetByStream", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(stream, "stream"));
    PLAT_TRY(want(allocatorDesc, "allocatorDesc"));
    PLAT_TRY(want(allocator, "allocator"));
    PLAT_TRY(want(reinterpret_cast<void*>(allocFunc), "allocFunc"));
    PLAT_TRY(want(reinterpret_cast<void*>(freeFunc), "freeFunc"));
    PLAT_TRY(want(reinterpret_cast<void*>(allocAdviseFunc), "allocAdviseFunc"));
    PLAT_TRY(want(reinterpret_cast<void*>(getAddrFromBlockFunc), "getAddrFromBlockFunc"));
    const auto found = runtime.allocators.of_stream(va_of(stream).value);
    if (!found)
      return fail(RuleId::AllocatorMissing, "stream", "no allocator is registered on stream {}",
                  fmt::ptr(stream));
    *allocatorDesc = pointer_of(Va{found->handle});
    *allocator = found->description.object;
    *allocFunc = found->description.allocate;
    *freeFunc = found->description.free;
    *allocAdviseFunc = found->description.allocate_near;
    *getAddrFromBlockFunc = found->description.address;
    return {};
  });
}

aclError aclrtAllocatorUnregister(aclrtStream stream) {
  return entry("aclrtAllocatorUnregister", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(stream, "stream"));
    runtime.allocators.remove(va_of(stream).value);
    return {};
  });
}

}  // extern "C"
