// Everything in the handler is async-signal-safe: lock-free look-ups, a buffer on the stack, write(2),
// backtrace (warmed up).
#include "vmm/fault.h"

#include <execinfo.h>
#include <signal.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <mutex>

#include "os/guard.h"
#include "os/signal_chain.h"

namespace plat::vmm {

namespace {

std::atomic<const Vmm*> watched{nullptr};

class Line {
 public:
  Line& text(const char* s) {
    while (*s != 0 && used_ < sizeof buffer_ - 1) buffer_[used_++] = *s++;
    return *this;
  }
  Line& hex(uint64_t value) { return text("0x").number(value, 16); }
  Line& number(uint64_t value, unsigned base = 10) {
    char digits[24];
    size_t count = 0;
    do digits[count++] = "0123456789abcdef"[value % base];
    while ((value /= base) != 0);
    while (count > 0 && used_ < sizeof buffer_ - 1) buffer_[used_++] = digits[--count];
    return *this;
  }
  ~Line() {
    buffer_[used_++] = '\n';
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, buffer_, used_);
  }

 private:
  char buffer_[512];
  size_t used_ = 0;
};

enum class Direction { Unknown, Read, Write };

Direction direction_of(const void* context) {
  const auto* machine = &static_cast<const ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  return (machine->gregs[REG_ERR] & 2) != 0 ? Direction::Write : Direction::Read;
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
      return (syndrome >> 6 & 1) != 0 ? Direction::Write : Direction::Read;
    }
    at += head[1];
  }
  return Direction::Unknown;
#else
  (void)machine;
  return Direction::Unknown;
#endif
}

// What the process knows of the address: the mapping or the block it lies in, or that nothing is there.
void explain_place(const Vmm& vmm, const Reservation& range, uint64_t address) {
  const AddressSpace& space = vmm.space();
  const PageEntry entry = space.entry(Va{address});
  const Mapping* mapping = entry.tag() == PageEntry::Mapped ? space.mapping(entry.mapping()) : nullptr;
  if (mapping == nullptr) {
    const uint64_t start = range.start.load(std::memory_order_acquire);
    Line()
        .text("  at offset ")
        .number(address - start)
        .text(" of the reservation of ")
        .number(range.size_bytes.load(std::memory_order_acquire))
        .text(" bytes at ")
        .hex(start)
        .text("; nothing is mapped there");
    return;
  }
  uint64_t start = mapping->start.load(std::memory_order_acquire);
  uint64_t size_bytes = mapping->size_bytes.load(std::memory_order_acquire);
  const bool imported = mapping->kind.load(std::memory_order_acquire) == MappingKind::Imported;
  const char* what = " of the mapping of ";
  if (const SubBlocks* blocks = mapping->sub_blocks.load(std::memory_order_acquire)) {
    const auto block = blocks->block_at(Va{address});
    what = !block     ? " of memory that is not allocated, in pages of "
           : imported ? " of the imported memory of "
                      : " of the allocation of ";
    if (block) {
      start = block->start.value;
      size_bytes = block->size_bytes;
    }
  }
  Line line;
  line.text("  at offset ")
      .number(address - start)
      .text(what)
      .number(size_bytes)
      .text(" bytes at ")
      .hex(start);
  if (entry.bank() == device::kHostBank) {
    line.text(" on the host");
    return;
  }
  // Clients know a device by its logical number. A hidden one has none.
  const int32_t logical = vmm.node().logical_id(entry.bank());
  if (logical >= 0)
    line.text(" on device ").number(static_cast<uint64_t>(logical));
  else
    line.text(" on device ").number(entry.bank()).text(" of the machine, which is hidden here");
}

void print_stack() {
  Line().text("  Stack:");
  void* frames[48];
  const int depth = backtrace(frames, 48);
  backtrace_symbols_fd(frames, depth, STDERR_FILENO);
}

// The host may touch the page, and the system has none to give.
void explain_shortage(const Vmm& vmm, const Reservation& range, uint64_t address) {
  Line()
      .text("plat error: MEM-Machine-memory: the machine has no memory for device address ")
      .hex(address)
      .text(", which the host touched (pid ")
      .number(static_cast<uint64_t>(getpid()))
      .text(")");
  explain_place(vmm, range, address);
  Line().text(
      "  With PLAT_HOST_ACCESS=allow memory is taken when the host touches it. Use less, give the machine "
      "or the directory PLAT_DIR more, or set PLAT_COMMIT=eager to be told at allocation.");
  print_stack();
}

void explain(const Vmm& vmm, int signal, uint64_t address, const void* context) {
  const AddressSpace& space = vmm.space();
  const uint32_t index = space.reservation_at(Va{address});
  const Reservation* range = index == kNone ? nullptr : space.reservation(index);
  if (range == nullptr) return;
  if (signal == SIGBUS) return explain_shortage(vmm, *range, address);
  const Direction direction = direction_of(context);
  Line()
      .text("plat error: VMM-Host-dereference: the host tried to ")
      .text(direction == Direction::Write  ? "write"
            : direction == Direction::Read ? "read"
                                           : "touch")
      .text(" device address ")
      .hex(address)
      .text(" (pid ")
      .number(static_cast<uint64_t>(getpid()))
      .text(")");
  explain_place(vmm, *range, address);
  Line().text(
      "  Device memory cannot be touched from the host. Copy with aclrtMemcpy, or set "
      "PLAT_HOST_ACCESS=allow.");
  print_stack();
}

// Of the program's own faults it only says what happened: the program, a sanitizer or the default decides
// what comes of them.
bool on_fault(int signal, siginfo_t* info, void* context) {
  if (os::recover(signal, info, context)) return true;
  const Vmm* vmm = watched.load(std::memory_order_acquire);
  // A fault that a process sent (kill) has no address.
  if (vmm != nullptr && info->si_code > 0)
    explain(*vmm, signal, reinterpret_cast<uint64_t>(info->si_addr), context);
  return false;
}

}  // namespace

void explain_host_faults(const Vmm& vmm) {
  watched.store(&vmm, std::memory_order_release);
  static std::once_flag installed;
  std::call_once(installed, [] {
    void* frame = nullptr;
    backtrace(&frame, 1);  // loads the unwinder now, where allocating is still allowed
    os::put_in_front(SIGSEGV, on_fault);
    os::put_in_front(SIGBUS, on_fault);
  });
}

}  // namespace plat::vmm
