// SPDX-License-Identifier: Apache-2.0
#include "form.h"

#include "mstx/ms_tools_ext.h"

namespace FORM {

void mark(benchmark::State& state) {
  for (auto _ : state) {
    mstxMarkA("m", nullptr);
    benchmark::ClobberMemory();
  }
}

void range(benchmark::State& state) {
  for (auto _ : state) {
    mstxRangeEnd(mstxRangeStartA("r", nullptr));
    benchmark::ClobberMemory();
  }
}

void domain_mark(benchmark::State& state) {
  const mstxDomainHandle_t domain = mstxDomainCreateA("bench");
  for (auto _ : state) {
    mstxDomainMarkA(domain, "m", nullptr);
    benchmark::ClobberMemory();
  }
  mstxDomainDestroy(domain);
}

// One registration, as in the figures that the original is known by. Only with nobody who remembers.
void region(benchmark::State& state) {
  const mstxMemVirtualRangeDesc_t range = {0, &state, 64};
  const mstxMemRegionsRegisterBatch_t batch = {nullptr, MSTX_MEM_TYPE_VIRTUAL_ADDRESS, 1, &range, nullptr};
  for (auto _ : state) {
    mstxMemRegionsRegister(nullptr, &batch);
    benchmark::ClobberMemory();
  }
}

// What a pool does for a block that it hands out and takes back.
void block(benchmark::State& state) {
  const mstxMemVirtualRangeDesc_t range = {0, &state, 64};
  const mstxMemRegionsRegisterBatch_t batch = {nullptr, MSTX_MEM_TYPE_VIRTUAL_ADDRESS, 1, &range, nullptr};
  mstxMemRegionRef_t ref = {};
  ref.refType = MSTX_MEM_REGION_REF_TYPE_POINTER;
  ref.pointer = &state;
  const mstxMemRegionsUnregisterBatch_t unregister = {1, &ref};
  for (auto _ : state) {
    mstxMemRegionsRegister(nullptr, &batch);
    mstxMemRegionsUnregister(nullptr, &unregister);
    benchmark::ClobberMemory();
  }
}

}  // namespace FORM
