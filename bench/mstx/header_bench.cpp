// SPDX-License-Identifier: Apache-2.0
// bench_mstx_header_none and _one: a program with the header alone, without and with a tool.

#include "empty_tool.h"
#include "form.h"

#ifdef WITH_TOOL
extern "C" __attribute__((visibility("default"))) int InitInjectionMstx(
    mstxGetModuleFuncTableFunc get_table) {
  return EmptyTool<0>::init(get_table);
}
#endif

namespace {

#ifdef WITH_TOOL
BENCHMARK(header::mark)->Name("header_alone/mark");
BENCHMARK(header::range)->Name("header_alone/range_start+end");
BENCHMARK(header::region)->Name("header_alone/region");
#else
BENCHMARK(quiet<header::mark>)->Name("header_alone/mark");
BENCHMARK(quiet<header::range, 2>)->Name("header_alone/range_start+end");
BENCHMARK(quiet<header::region>)->Name("header_alone/region");
#endif

}  // namespace
