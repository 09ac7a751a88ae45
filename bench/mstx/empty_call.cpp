// SPDX-License-Identifier: Apache-2.0
// A call into a shared library that does nothing: what no library can be cheaper than.
extern "C" __attribute__((visibility("default"), noinline)) void bench_empty_mark(const char*, void*) {}
