// SPDX-License-Identifier: Apache-2.0
/* The context of an image (a program or a shared library): its function slots, and how they come to be
 * filled.
 *
 * There is one context an image, hidden and weak, however many translation units include this header. Slots
 * are read only in state DONE, so a tool that stores one function and goes on preparing is not called too
 * early; after that they are read at every call, so a tool may still change its mind. A FAILED context has
 * only empty slots.
 *
 * The symbols carry a number that changes with the layout: objects built with different versions of this
 * header, or with another mstx, meet in one image without sharing anything.
 */
#ifndef MSTX_IMPL_GUARD
#error "mstx_impl.h belongs to ms_tools_ext.h: include that one"
#endif
#ifndef MSTX_DETAIL_IMPL_H
#define MSTX_DETAIL_IMPL_H

#ifdef __cplusplus
#define MSTX_DETAIL_CAST(type, value) (reinterpret_cast<type>(value))
#else
#define MSTX_DETAIL_CAST(type, value) ((type)(value))
#endif

#ifdef MSTX_DISABLE

#define MSTX_DETAIL_SLOT(type, slots, id) NULL
#define MSTX_DETAIL_NEWS_SLOT(type, slots, id) NULL

#else

#include <errno.h>
#include <sched.h>

#define MSTX_INNER_FUNC_DEFINE __attribute__((weak, visibility("hidden")))

#ifdef __cplusplus
extern "C" {
#endif

enum { MSTX_DETAIL_FRESH = 0, MSTX_DETAIL_STARTING = 1, MSTX_DETAIL_DONE = 2, MSTX_DETAIL_FAILED = 3 };

/* A broker that stands in for tools may come to have none. It then says so in a word of its own, and calls
 * end at a look at that word: 1, nobody listens; 2, nor does it matter that something is registered which
 * nobody hears of. The image asks for the word through a module that only such a broker fills. */
#define MSTX_DETAIL_BROKER_MODULE 0x504c4149
typedef int const* (*platMstxQuietFunc)(void); /* NOLINT(modernize-redundant-void-arg): C needs it */

typedef struct platMstxImage1_t {
  int state;
  int loud; /* 0: the word of an image without a broker */
  int const* quiet;
  void const* starter; /* which thread is STARTING: the address of its errno, which no other thread has */
  /* Element 0 of each is never called: it takes what a tool stores one past the end. */
  mstxFuncPointer core[MSTX_API_CORE_SIZE];
  mstxFuncPointer domain[MSTX_API_CORE2_SIZE];
  mstxFuncPointer mem[MSTX_API_CORE_MEM_SIZE];
  mstxFuncPointer broker[2];
  mstxFuncPointer* coreTable[MSTX_API_CORE_SIZE + 2];
  mstxFuncPointer* domainTable[MSTX_API_CORE2_SIZE + 2];
  mstxFuncPointer* memTable[MSTX_API_CORE_MEM_SIZE + 2];
  mstxFuncPointer* brokerTable[2 + 2];
} platMstxImage1_t;

extern platMstxImage1_t platMstxImage1;
int platMstxImage1Table(mstxFuncModule module, mstxFuncTable* outTable, unsigned int* outSize);
int platMstxImage1Start(void);

MSTX_INNER_FUNC_DEFINE platMstxImage1_t platMstxImage1 = {
    MSTX_DETAIL_FRESH,
    0,
    &platMstxImage1.loud,
    NULL,
    {NULL},
    {NULL},
    {NULL},
    {NULL},
    {NULL, &platMstxImage1.core[1], &platMstxImage1.core[2], &platMstxImage1.core[3], &platMstxImage1.core[4],
     &platMstxImage1.core[0], NULL},
    {NULL, &platMstxImage1.domain[1], &platMstxImage1.domain[2], &platMstxImage1.domain[3],
     &platMstxImage1.domain[4], &platMstxImage1.domain[5], &platMstxImage1.domain[0], NULL},
    {NULL, &platMstxImage1.mem[1], &platMstxImage1.mem[2], &platMstxImage1.mem[3], &platMstxImage1.mem[4],
     &platMstxImage1.mem[5], &platMstxImage1.mem[0], NULL},
    {NULL, &platMstxImage1.broker[1], &platMstxImage1.broker[0], NULL}};

/* The getter that this image hands to a tool. */
MSTX_INNER_FUNC_DEFINE int platMstxImage1Table(mstxFuncModule module, mstxFuncTable* outTable,
                                               unsigned int* outSize) {
  if (outTable == NULL || outSize == NULL) return MSTX_FAIL;
  if (module == MSTX_DETAIL_BROKER_MODULE) {
    *outTable = platMstxImage1.brokerTable;
    *outSize = 2;
    return MSTX_SUCCESS;
  }
  switch (module) {
    case MSTX_API_MODULE_CORE:
      *outTable = platMstxImage1.coreTable;
      *outSize = MSTX_API_CORE_SIZE;
      return MSTX_SUCCESS;
    case MSTX_API_MODULE_CORE_DOMAIN:
      *outTable = platMstxImage1.domainTable;
      *outSize = MSTX_API_CORE2_SIZE;
      return MSTX_SUCCESS;
    case MSTX_API_MODULE_CORE_MEM:
      *outTable = platMstxImage1.memTable;
      *outSize = MSTX_API_CORE_MEM_SIZE;
      return MSTX_SUCCESS;
    default:
      return MSTX_FAIL;
  }
}

#ifdef __cplusplus
}
#endif

#include "mstx_init_defs.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The first call of the image ends up here, with those that other threads make meanwhile. True once slots may
 * be read. */
MSTX_INNER_FUNC_DEFINE int platMstxImage1Start(void) {
  void const* const self = &errno;
  int state = MSTX_DETAIL_FRESH;
  if (__atomic_compare_exchange_n(&platMstxImage1.state, &state, MSTX_DETAIL_STARTING, 0, __ATOMIC_ACQ_REL,
                                  __ATOMIC_ACQUIRE)) {
    mstxInitInjectionFunc tool;
    __atomic_store_n(&platMstxImage1.starter, self, __ATOMIC_RELEASE);
    tool = platMstxImage1Tool();
    state = MSTX_DETAIL_DONE;
    if (tool == NULL || tool(platMstxImage1Table) != MSTX_SUCCESS) {
      int id;
      for (id = 0; id < MSTX_API_CORE_SIZE; ++id) platMstxImage1.core[id] = NULL;
      for (id = 0; id < MSTX_API_CORE2_SIZE; ++id) platMstxImage1.domain[id] = NULL;
      for (id = 0; id < MSTX_API_CORE_MEM_SIZE; ++id) platMstxImage1.mem[id] = NULL;
      state = MSTX_DETAIL_FAILED;
    } else if (platMstxImage1.broker[1] != NULL) {
      platMstxImage1.quiet = MSTX_DETAIL_CAST(platMstxQuietFunc, platMstxImage1.broker[1])();
    }
    __atomic_store_n(&platMstxImage1.state, state, __ATOMIC_RELEASE);
    return 1;
  }
  while (state == MSTX_DETAIL_STARTING) {
    /* A tool that uses mstx while it starts would wait for itself. */
    if (__atomic_load_n(&platMstxImage1.starter, __ATOMIC_ACQUIRE) == self) return 0;
    sched_yield();
    state = __atomic_load_n(&platMstxImage1.state, __ATOMIC_ACQUIRE);
  }
  return 1;
}

/* `quiet` is how quiet it must be for the call to come to nothing. */
inline static mstxFuncPointer platMstxImage1Load(mstxFuncPointer* slot, int quiet) {
  if (__builtin_expect(__atomic_load_n(&platMstxImage1.state, __ATOMIC_ACQUIRE) < MSTX_DETAIL_DONE, 0) &&
      !platMstxImage1Start())
    return NULL;
  if (__atomic_load_n(platMstxImage1.quiet, __ATOMIC_ACQUIRE) >= quiet) return NULL;
  return __atomic_load_n(slot, __ATOMIC_ACQUIRE);
}

#ifdef __cplusplus
}
#endif

#define MSTX_DETAIL_SLOT(type, slots, id) \
  MSTX_DETAIL_CAST(type, platMstxImage1Load(&platMstxImage1.slots[id], 1))
/* For a call that makes something which a later tool would want to know of. */
#define MSTX_DETAIL_NEWS_SLOT(type, slots, id) \
  MSTX_DETAIL_CAST(type, platMstxImage1Load(&platMstxImage1.slots[id], 2))

#endif
#endif
