// SPDX-License-Identifier: Apache-2.0
// Copies and fills of memory that may not be there.
//
// A fault inside them ends the call with false, and last_fault() says where it was; how much was moved before
// it is not known. A fault anywhere else is nobody's business here. The price is paid by the fault: short
// copies run in code of our own that the handler of the signal knows by its place, and for the rest a few
// registers are put aside. Where the memory checks of a sanitizer are in the program, all copies go through
// the C library, which is what they look at.
//
// recover() must be in the handler of SIGSEGV and SIGBUS (os/signal_chain.h). A program that installs a
// handler of its own later gets such faults first, as it would without us.
#pragma once

#include <signal.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace plat::os {

namespace guard {

inline constexpr size_t kShortBytes = 16384;  // what fits the nearest cache

using ShortCopy = bool (*)(void* target, const void* source, size_t size_bytes);
extern std::atomic<ShortCopy> short_copy;  // of at most kShortBytes

}  // namespace guard

bool copy_long(void* target, const void* source, size_t size_bytes);

// memcpy.
inline bool copy(void* target, const void* source, size_t size_bytes) {
  return size_bytes <= guard::kShortBytes
             ? guard::short_copy.load(std::memory_order_relaxed)(target, source, size_bytes)
             : copy_long(target, source, size_bytes);
}
// memmove.
bool move(void* target, const void* source, size_t size_bytes);
// memset.
bool fill(void* target, uint8_t value, size_t size_bytes);
// Any other function that touches no memory beyond these two ranges and its own frame, takes no lock and owns
// nothing: it may be left anywhere.
using Body = void (*)(void* target, const void* source, size_t size_bytes);
bool call(Body body, void* target, const void* source, size_t size_bytes);

struct Fault {
  uint64_t address = 0;  // 0: the processor did not say, as for numbers that are no addresses
  int signal = 0;

  // The address is mapped, and there is no memory for it.
  bool is_shortage() const { return signal == SIGBUS; }
};
// The last one of this thread that one of the calls above ended by.
Fault last_fault();

// In the handler of a fault: whether it was one of ours. Then execution goes on in one of the calls above
// once the handler returns, or at once. Async-signal-safe.
bool recover(int signal, const siginfo_t* info, void* context);

}  // namespace plat::os
