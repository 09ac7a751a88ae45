// SPDX-License-Identifier: Apache-2.0
/* The stream type, which acl.h also declares.
 *
 * C99 does not allow the same typedef twice, and neither header can know whether the other one follows.
 * Compilers let it pass, without a word, when either declaration stands in a system header: so this one does.
 */
#ifndef MSTX_DETAIL_STREAM_H
#define MSTX_DETAIL_STREAM_H
#if defined(__GNUC__)
#pragma GCC system_header
#endif

typedef void* aclrtStream;

#endif
