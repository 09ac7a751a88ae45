// SPDX-License-Identifier: Apache-2.0
// The measured calls, compiled once for each form of the header.
#pragma once

#include <benchmark/benchmark.h>

#define BENCH_MSTX_FORM(form)                \
  namespace form {                           \
  void mark(benchmark::State& state);        \
  void range(benchmark::State& state);       \
  void domain_mark(benchmark::State& state); \
  void region(benchmark::State& state);      \
  void block(benchmark::State& state);       \
  }

BENCH_MSTX_FORM(library)
BENCH_MSTX_FORM(header)
BENCH_MSTX_FORM(disabled)

// With no tool a call costs less than 2.5 ns, in either form.
template <void (*Measured)(benchmark::State&), int kCalls = 1>
void quiet(benchmark::State& state) {
  Measured(state);
  state.SetLabel(kCalls == 1 ? "(target 2.5)" : "(target 5)");
}
