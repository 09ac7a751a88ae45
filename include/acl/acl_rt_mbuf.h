// SPDX-License-Identifier: Apache-2.0
// Buffers that queues hand on: data, its length, 96 bytes of the user's, and chains of them.
#pragma once

#include "acl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef void* aclrtMbuf;

// Makes a buffer of at most 4 GiB, whose data is 0 bytes long. Only in programs that run on the device itself
// (Atlas 200I/500 A2 as RC), as all that follow.
ACL_FUNC_VISIBILITY aclError aclrtAllocBuf(aclrtMbuf* buf, size_t size);

// Frees a buffer, and with the head of a chain all of it. The memory goes with its last reference.
ACL_FUNC_VISIBILITY aclError aclrtFreeBuf(aclrtMbuf buf);

// How many bytes of the buffer are data, for whoever gets it.
ACL_FUNC_VISIBILITY aclError aclrtSetBufDataLen(aclrtMbuf buf, size_t len);

// What aclrtSetBufDataLen said; 0 at first.
ACL_FUNC_VISIBILITY aclError aclrtGetBufDataLen(aclrtMbuf buf, size_t* len);

// Where the buffer lies, and how large it is. The program may read and write it.
ACL_FUNC_VISIBILITY aclError aclrtGetBufData(const aclrtMbuf buf, void** dataPtr, size_t* size);

// Reads from the 96 bytes that travel with the buffer.
ACL_FUNC_VISIBILITY aclError aclrtGetBufUserData(const aclrtMbuf buf, void* dataPtr, size_t size,
                                                 size_t offset);

// Writes to them.
ACL_FUNC_VISIBILITY aclError aclrtSetBufUserData(aclrtMbuf buf, const void* dataPtr, size_t size,
                                                 size_t offset);

// A second buffer over the same memory, with the length and the user's bytes of the first as they are now; of
// the head of a chain, a second chain.
ACL_FUNC_VISIBILITY aclError aclrtCopyBufRef(const aclrtMbuf buf, aclrtMbuf* newBuf);

// Puts a single buffer at the end of a chain.
ACL_FUNC_VISIBILITY aclError aclrtAppendBufChain(aclrtMbuf headBuf, aclrtMbuf buf);

// How many buffers a chain has, its head included.
ACL_FUNC_VISIBILITY aclError aclrtGetBufChainNum(aclrtMbuf headBuf, uint32_t* num);

// The buffer at a place of a chain; 0 is its head.
ACL_FUNC_VISIBILITY aclError aclrtGetBufFromChain(aclrtMbuf headBuf, uint32_t index, aclrtMbuf* buf);

#ifdef __cplusplus
}
#endif
