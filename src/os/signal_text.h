// SPDX-License-Identifier: Apache-2.0
// What the handler of a signal can say: everything here is async-signal-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace plat::os {

// A line of standard error, put together on the stack and written when it ends.
class SignalLine {
 public:
  SignalLine& text(const char* s) {
    while (*s != 0 && used_ < sizeof buffer_ - 1) buffer_[used_++] = *s++;
    return *this;
  }
  SignalLine& hex(uint64_t value) { return text("0x").number(value, 16); }
  SignalLine& number(uint64_t value, unsigned base = 10) {
    char digits[24];
    size_t count = 0;
    do digits[count++] = "0123456789abcdef"[value % base];
    while ((value /= base) != 0);
    while (count > 0 && used_ < sizeof buffer_ - 1) buffer_[used_++] = digits[--count];
    return *this;
  }
  ~SignalLine();

 private:
  char buffer_[512];
  size_t used_ = 0;
};

// What the processor tried when it faulted, from the context that the handler gets.
enum class Access : uint8_t { Unknown, Read, Write };
Access access_of(const void* context);

// Loads what walking a stack needs. To be called before the first signal, where allocating is allowed.
void prepare_stacks();
// The calls that lead here, on standard error. Names of frames are looked up by a child, which may fail.
void print_stack();
// The same for a stack that was walked before, with a line above it.
void print_stack(const char* title, std::span<void* const> frames);

}  // namespace plat::os
