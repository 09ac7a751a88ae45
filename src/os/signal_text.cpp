// SPDX-License-Identifier: Apache-2.0
#include "os/signal_text.h"

#include <execinfo.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstring>

#include "os/frame_names.h"

namespace plat::os {

SignalLine::~SignalLine() {
  buffer_[used_++] = '\n';
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, buffer_, used_);
}

Access access_of(const void* context) {
  const auto* machine = &static_cast<const ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  return (machine->gregs[REG_ERR] & 2) != 0 ? Access::Write : Access::Read;
#elif defined(__aarch64__)
  // Records of (magic, size) follow; the one of the exception syndrome holds "write, not read" in bit 6.
  const auto* at = reinterpret_cast<const unsigned char*>(machine->__reserved);
  const auto* end = at + sizeof machine->__reserved;
  while (at + 16 <= end) {
    uint32_t head[2];
    std::memcpy(head, at, sizeof head);
    if (head[0] == 0 || head[1] == 0) break;
    if (head[0] == 0x45535201) {
      uint64_t syndrome = 0;
      std::memcpy(&syndrome, at + 8, sizeof syndrome);
      return (syndrome >> 6 & 1) != 0 ? Access::Write : Access::Read;
    }
    at += head[1];
  }
  return Access::Unknown;
#else
  (void)machine;
  return Access::Unknown;
#endif
}

void prepare_stacks() {
  void* frame = nullptr;
  backtrace(&frame, 1);  // loads the unwinder
}

void print_stack() {
  void* frames[48];
  print_stack("  Stack:", {frames, static_cast<size_t>(backtrace(frames, 48))});
}

void print_stack(const char* title, std::span<void* const> frames) {
  SignalLine().text(title);
  if (!write_frame_names(frames, "    ", STDERR_FILENO))
    backtrace_symbols_fd(frames.data(), static_cast<int>(frames.size()), STDERR_FILENO);
}

}  // namespace plat::os
