// SPDX-License-Identifier: Apache-2.0
// Buffers that queues hand on.
#include "acl/acl_rt_mbuf.h"

#include "acl/entry.h"

using namespace plat;
using plat::acl::entry;
using plat::acl::Runtime;
using plat::acl::want;
using plat::acl::want_size;
using plat::malloc::Mbufs;

namespace {

Mbufs::Handle buffer_of(const aclrtMbuf buffer) { return reinterpret_cast<Mbufs::Handle>(buffer); }
aclrtMbuf opaque(Mbufs::Handle handle) { return reinterpret_cast<aclrtMbuf>(handle); }

// The buffers, where the product has them. Arguments are judged before.
Result<Mbufs*> buffers_of(Runtime& runtime) {
  if (!runtime.node.product().runs_on_device)
    return fail(RuleId::ProductSupport, "", "{}: only programs that run on the device have buffers of queues",
                runtime.node.product().name);
  return &runtime.mbufs;
}

// Looked at before anything else, as the vendor's library does.
Result<> check_user_range(size_t size, size_t offset) {
  if (size <= malloc::kMbufUserBytes && offset <= malloc::kMbufUserBytes - size) return {};
  return fail(RuleId::MbufUserData, "size", "size is {}, offset is {}", size, offset);
}

}  // namespace

extern "C" {

aclError aclrtAllocBuf(aclrtMbuf* buf, size_t size) {
  return entry("aclrtAllocBuf", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(buf, "buf"));
    PLAT_TRY(want_size(size, "size"));
    PLAT_ASSIGN(buffers, buffers_of(runtime));
    PLAT_ASSIGN(made, buffers->allocate(size));
    *buf = opaque(made);
    return {};
  });
}

aclError aclrtFreeBuf(aclrtMbuf buf) {
  return entry("aclrtFreeBuf", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(buf, "buf"));
    PLAT_ASSIGN(buffers, buffers_of(runtime));
    return buffers->free(buffer_of(buf));
  });
}

aclError aclrtSetBufDataLen(aclrtMbuf buf, size_t len) {
  return entry("aclrtSetBufDataLen", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(buf, "buf"));
    PLAT_ASSIGN(buffers, buffers_of(runtime));
    return buffers->set_length(buffer_of(buf), len);
  });
}

aclError aclrtGetBufDataLen(aclrtMbuf buf, size_t* len) {
  return entry("aclrtGetBufDataLen", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(buf, "buf"));
    PLAT_TRY(want(len, "len"));
    PLAT_ASSIGN(buffers, buffers_of(runtime));
    PLAT_ASSIGN(length, buffers->length(buffer_of(buf)));
    *len = length;
    return {};
  });
}

aclError aclrtGetBufData(const aclrtMbuf buf, void** dataPtr, size_t* size) {
  return entry("aclrtGetBufData", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(buf, "buf"));
    PLAT_TRY(want(dataPtr, "dataPtr"));
    PLAT_TRY(want(size, "size"));
    PLAT_ASSIGN(buffers, buffers_of(runtime));
    PLAT_ASSIGN(data, buffers->data(buffer_of(buf)));
    *dataPtr = data.start;
    *size = data.size_bytes;
    return {};
  });
}

aclError aclrtGetBufUserData(const aclrtMbuf buf, void* dataPtr, size_t size, size_t offset) {
  return entry("aclrtGetBufUserData", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(check_user_range(size, offset));
    PLAT_TRY(want(buf, "buf"));
    PLAT_TRY(want(dataPtr, "dataPtr"));
    PLAT_ASSIGN(buffers, buffers_of(runtime));
    return buffers->read_user(buffer_of(buf), {static_cast<std::byte*>(dataPtr), size}, offset);
  });
}

aclError aclrtSetBufUserData(aclrtMbuf buf, const void* dataPtr, size_t size, size_t offset) {
  return entry("aclrtSetBufUserData", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(check_user_range(size, offset));
    PLAT_TRY(want(buf, "buf"));
    PLAT_TRY(want(dataPtr, "dataPtr"));
    PLAT_ASSIGN(buffers, buffers_of(runtime));
    return buffers->write_user(buffer_of(buf), {static_cast<const std::byte*>(dataPtr), size}, offset);
  });
}

aclError aclrtCopyBufRef(const aclrtMbuf buf, aclrtMbuf* newBuf) {
  return entry("aclrtCopyBufRef", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(buf, "buf"));
    PLAT_TRY(want(newBuf, "newBuf"));
    PLAT_ASSIGN(buffers, buffers_of(runtime));
    PLAT_ASSIGN(made, buffers->copy_reference(buffer_of(buf)));
    *newBuf = opaque(made);
    return {};
  });
}

aclError aclrtAppendBufChain(aclrtMbuf headBuf, aclrtMbuf buf) {
  return entry("aclrtAppendBufChain", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(headBuf, "headBuf"));
    PLAT_TRY(want(buf, "buf"));
    PLAT_ASSIGN(buffers, buffers_of(runtime));
    return buffers->append(buffer_of(headBuf), buffer_of(buf));
  });
}

aclError aclrtGetBufChainNum(aclrtMbuf headBuf, uint32_t* num) {
  return entry("aclrtGetBufChainNum", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(headBuf, "headBuf"));
    PLAT_TRY(want(num, "num"));
    PLAT_ASSIGN(buffers, buffers_of(runtime));
    PLAT_ASSIGN(all, buffers->chain(buffer_of(headBuf)));
    *num = static_cast<uint32_t>(all.size());
    return {};
  });
}

aclError aclrtGetBufFromChain(aclrtMbuf headBuf, uint32_t index, aclrtMbuf* buf) {
  return entry("aclrtGetBufFromChain", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(headBuf, "headBuf"));
    PLAT_TRY(want(buf, "buf"));
    PLAT_ASSIGN(buffers, buffers_of(runtime));
    PLAT_ASSIGN(all, buffers->chain(buffer_of(headBuf)));
    if (index >= all.size())
      return fail(RuleId::MbufRange, "index", "index is {}, the chain has {} buffers", index, all.size());
    *buf = opaque(all[index]);
    return {};
  });
}

}  // extern "C"
