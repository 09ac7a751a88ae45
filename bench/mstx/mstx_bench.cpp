// SPDX-License-Identifier: Apache-2.0
// bench_mstx: the library in the process.
//
// The first row is what a call into any shared library costs on this machine, which is more than the target
// of a call without a tool on some.

#include "empty_tool.h"
#include "form.h"
#include "plat/mstx_ext.h"

extern "C" void bench_empty_mark(const char* message, void* stream);

namespace {

platMstxToolId_t g_first, g_second;

void no_tool(const benchmark::State&) {
  platMstxDetach(g_first);
  platMstxDetach(g_second);
  g_first = g_second = 0;
  platMstxRemember(0);
}
void remembering(const benchmark::State& state) {
  no_tool(state);
  platMstxRemember(1);
}
void one_tool(const benchmark::State& state) {
  no_tool(state);
  platMstxAttachFunction(EmptyTool<1>::init, "empty", &g_first);
}
void two_tools(const benchmark::State& state) {
  one_tool(state);
  platMstxAttachFunction(EmptyTool<2>::init, "empty", &g_second);
}

void empty_call(benchmark::State& state) {
  for (auto _ : state) {
    bench_empty_mark("m", nullptr);
    benchmark::ClobberMemory();
  }
}

BENCHMARK(empty_call)->Name("empty_call");
BENCHMARK(quiet<library::mark>)->Name("no_tool/library/mark")->Setup(no_tool);
BENCHMARK(quiet<library::range, 2>)->Name("no_tool/library/range_start+end")->Setup(no_tool);
BENCHMARK(quiet<library::domain_mark>)->Name("no_tool/library/domain_mark")->Setup(no_tool);
BENCHMARK(quiet<library::region>)->Name("no_tool/library/region")->Setup(no_tool);
BENCHMARK(quiet<header::mark>)->Name("no_tool/header/mark")->Setup(no_tool);
BENCHMARK(quiet<header::range, 2>)->Name("no_tool/header/range_start+end")->Setup(no_tool);
BENCHMARK(quiet<header::region>)->Name("no_tool/header/region")->Setup(no_tool);
BENCHMARK(disabled::mark)->Name("disabled/mark");
BENCHMARK(disabled::region)->Name("disabled/region");

BENCHMARK(library::block)->Name("remember/library/region+unregister")->Setup(remembering);

BENCHMARK(library::mark)->Name("one_tool/library/mark")->Setup(one_tool);
BENCHMARK(library::mark)->Name("one_tool/library/mark")->Setup(one_tool)->Threads(2);
BENCHMARK(library::range)->Name("one_tool/library/range_start+end")->Setup(one_tool);
BENCHMARK(library::domain_mark)->Name("one_tool/library/domain_mark")->Setup(one_tool);
BENCHMARK(library::block)->Name("one_tool/library/region+unregister")->Setup(one_tool);
BENCHMARK(header::mark)->Name("one_tool/header/mark")->Setup(one_tool);
BENCHMARK(library::mark)->Name("two_tools/library/mark")->Setup(two_tools);
BENCHMARK(library::block)->Name("two_tools/library/region+unregister")->Setup(two_tools);

// How long the program's memory calls may be held up by a newcomer: one that is told of this many regions.
void attach_to_live_regions(benchmark::State& state) {
  no_tool(state);
  platMstxRemember(1);
  for (int64_t i = 0; i < state.range(0); ++i) {
    const mstxMemVirtualRangeDesc_t range = {0, reinterpret_cast<void*>(0x100000 + 64 * i), 64};
    const mstxMemRegionsRegisterBatch_t batch = {nullptr, MSTX_MEM_TYPE_VIRTUAL_ADDRESS, 1, &range, nullptr};
    mstxMemRegionsRegister(nullptr, &batch);
  }
  for (auto _ : state) {
    platMstxAttachFunction(EmptyTool<1>::init, "empty", &g_first);
    state.PauseTiming();
    platMstxDetach(g_first);
    state.ResumeTiming();
  }
  no_tool(state);
}
BENCHMARK(attach_to_live_regions)->Name("attach/live_regions")->Arg(0)->Arg(1000)->Arg(100000);

}  // namespace
