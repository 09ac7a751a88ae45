// SPDX-License-Identifier: Apache-2.0
// A tool that does nothing, in as many copies as wanted: what is left is the way to it.
#pragma once

#ifndef MSTX_NO_IMPL
#define MSTX_NO_IMPL
#endif
#include "mstx/ms_tools_ext.h"

template <int Copy>
struct EmptyTool {
  static void mark(const char*, aclrtStream) {}
  static mstxRangeId range_start(const char*, aclrtStream) { return Copy + 1; }
  static void range_end(mstxRangeId) {}
  static mstxDomainHandle_t domain_create(const char*) { return reinterpret_cast<mstxDomainHandle_t>(16); }
  static void domain_mark(mstxDomainHandle_t, const char*, aclrtStream) {}
  static void regions_register(mstxDomainHandle_t, const mstxMemRegionsRegisterBatch_t*) {}
  static void regions_unregister(mstxDomainHandle_t, const mstxMemRegionsUnregisterBatch_t*) {}

  static int init(mstxGetModuleFuncTableFunc get_table) {
    mstxFuncTable table = nullptr;
    unsigned int count = 0;
    const auto store = [&](int id, auto* function) {
      *table[id] = reinterpret_cast<mstxFuncPointer>(function);
    };
    get_table(MSTX_API_MODULE_CORE, &table, &count);
    store(MSTX_API_CORE_MARK_A, mark);
    store(MSTX_API_CORE_RANGE_START_A, range_start);
    store(MSTX_API_CORE_RANGE_END, range_end);
    get_table(MSTX_API_MODULE_CORE_DOMAIN, &table, &count);
    store(MSTX_API_CORE2_DOMAIN_CREATE_A, domain_create);
    store(MSTX_API_CORE2_DOMAIN_MARK_A, domain_mark);
    get_table(MSTX_API_MODULE_CORE_MEM, &table, &count);
    store(MSTX_API_CORE_MEM_REGIONS_REGISTER, regions_register);
    store(MSTX_API_CORE_MEM_REGIONS_UNREGISTER, regions_unregister);
    return MSTX_SUCCESS;
  }
};
