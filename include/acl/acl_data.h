// SPDX-License-Identifier: Apache-2.0
// Elements and buffers: sizes of data types, half floats, and records of where data lies.
#pragma once

#include "acl_base.h"

#ifdef __cplusplus
extern "C" {
#endif

// Where data lies and how long it is. Only calls look inside.
typedef struct aclDataBuffer aclDataBuffer;

// The bytes of one element: 0 for undefined types and text, 1 also for types of less than a byte, 8 for types
// that are not known.
ACL_FUNC_VISIBILITY size_t aclDataTypeSize(aclDataType dataType);

// A half float as a float.
ACL_FUNC_VISIBILITY float aclFloat16ToFloat(aclFloat16 value);

// A float as the nearest half float; infinity when it is too large for one.
ACL_FUNC_VISIBILITY aclFloat16 aclFloatToFloat16(float value);

// Records where data lies; NULL when memory is short. The data stays the caller's.
ACL_FUNC_VISIBILITY aclDataBuffer* aclCreateDataBuffer(void* data, size_t size);

// Frees a record, and not the data.
ACL_FUNC_VISIBILITY aclError aclDestroyDataBuffer(const aclDataBuffer* dataBuffer);

// Lets a record name other data.
ACL_FUNC_VISIBILITY aclError aclUpdateDataBuffer(aclDataBuffer* dataBuffer, void* data, size_t size);

// The address in a record; NULL for no record.
ACL_FUNC_VISIBILITY void* aclGetDataBufferAddr(const aclDataBuffer* dataBuffer);

// The size in a record, cut to 32 bits; 0 for no record.
ACL_FUNC_VISIBILITY uint32_t aclGetDataBufferSize(const aclDataBuffer* dataBuffer);

// The size in a record; 0 for no record.
ACL_FUNC_VISIBILITY size_t aclGetDataBufferSizeV2(const aclDataBuffer* dataBuffer);

#ifdef __cplusplus
}
#endif
