// inspect/: sees what a program does with device memory, and says what is wrong with it.
//
//   trace/    the file: what an event is, how it is written down, and the reader
//   record/   what runs inside the program: hooks, call stacks, the mstx tool       -> libplat_inspect.so
//   model/    what memory looked like at an event: blocks, mappings, heaps, regions, order of streams
//   check/    findings: the rules, the checks, suppressions, and how they are told
//   gate/     a library with a name that torch_npu looks for before it tells of its pool
//   report/   what happened to memory, for people
//   export/   the same as files that other tools open
//
// Knows the device only through the public headers, so it works over the vendor's library as well. record/
// includes nothing but trace/ and a header of base/, and uses no library, because it lives in programs that
// are not ours. The rest works on a trace, while the program runs or after it has ended, and never opens a
// device.
#pragma once
