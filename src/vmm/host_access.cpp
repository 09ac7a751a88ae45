// SPDX-License-Identifier: Apache-2.0
// Everything in the handler is async-signal-safe: lock-free look-ups, and what os/signal_text.h has.
#include "vmm/host_access.h"

#include <atomic>
#include <mutex>

#include "os/guard.h"
#include "os/process.h"
#include "os/signal_chain.h"
#include "os/signal_text.h"

namespace plat::vmm {

using os::SignalLine;

namespace {

std::atomic<const Vmm*> watched{nullptr};
std::atomic<FindFreed> find_freed_block{nullptr};

void explain_free(const FreedBlock& freed, uint64_t address) {
  SignalLine line;
  line.text("  at offset ")
      .number(address - freed.start.value)
      .text(" of the block of ")
      .number(freed.size_bytes)
      .text(" bytes at ")
      .hex(freed.start.value)
      .text(" that ")
      .text(freed.freed_by)
      .text(" freed");
  if (freed.thread != os::thread_id()) line.text(" in thread ").number(static_cast<uint64_t>(freed.thread));
  if (freed.frees_since == 0)
    line.text(", the last that was freed");
  else if (freed.frees_since == 1)
    line.text(", one free before the last");
  else
    line.text(", ").number(freed.frees_since).text(" frees ago");
}

// Whether a block is around the address: of the device, or imported.
bool is_in_block(const Vmm& vmm, uint64_t address) {
  const PageEntry entry = vmm.space().entry(Va{address});
  const Mapping* mapping = entry.has_mapping() ? vmm.space().mapping(entry.mapping()) : nullptr;
  if (mapping == nullptr) return false;
  const SubBlocks* blocks = mapping->sub_blocks.load(std::memory_order_acquire);
  return blocks == nullptr || blocks->block_at(Va{address}).has_value();
}

// What the process knows of the address: the mapping or the block it lies in, or that nothing is there.
void explain_place(const Vmm& vmm, const Reservation& range, uint64_t address) {
  const AddressSpace& space = vmm.space();
  const PageEntry entry = space.entry(Va{address});
  const Mapping* mapping = entry.has_mapping() ? space.mapping(entry.mapping()) : nullptr;
  if (mapping == nullptr) {
    const uint64_t start = range.start.load(std::memory_order_acquire);
    SignalLine()
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
      size_bytes = blocks->asked_bytes(*block);
    }
  }
  SignalLine line;
  line.text("  at offset ")
      .number(address - start)
      .text(what)
      .number(size_bytes)
      .text(" bytes at ")
      .hex(start);
  if (entry.tag() == PageEntry::Remote) {
    line.text(", memory of another server");
    return;
  }
  if (entry.bank() == device::kHostBank) {
    line.text(" on the host");
    return;
  }
  // Clients know a device by its logical number. A hidden one has none.
  const int32_t logical = vmm.node().logical_id(entry.bank().value);
  if (logical >= 0)
    line.text(" on device ").number(static_cast<uint64_t>(logical));
  else
    line.text(" on device ").number(entry.bank().value).text(" of the machine, which is hidden here");
}

// The host may touch the page, and the system has none to give.
void explain_shortage(const Vmm& vmm, const Reservation& range, uint64_t address) {
  SignalLine()
      .text("plat error: MEM-Machine-memory: the machine has no memory for device address ")
      .hex(address)
      .text(", which the host touched (pid ")
      .number(static_cast<uint64_t>(os::process_id()))
      .text(")");
  explain_place(vmm, range, address);
  SignalLine().text(
      "  With PLAT_HOST_ACCESS=allow memory is taken when the host touches it. Use less, give the machine "
      "or the directory PLAT_DIR more, or set PLAT_COMMIT=eager to be told at allocation.");
  os::print_stack();
}

void explain(const Vmm& vmm, int signal, uint64_t address, const void* context) {
  const AddressSpace& space = vmm.space();
  const ReservationId id = space.reservation_at(Va{address});
  const Reservation* range = id == ReservationId::none() ? nullptr : space.reservation(id);
  if (signal == SIGBUS) return range == nullptr ? void() : explain_shortage(vmm, *range, address);
  // Addresses are used again: what lives there now comes before what was there once.
  const FindFreed find = find_freed_block.load(std::memory_order_acquire);
  const auto freed = find == nullptr || is_in_block(vmm, address) ? std::nullopt : find(Va{address});
  if (range == nullptr && !freed) return;
  const os::Access access = os::access_of(context);
  const bool is_page_locked = freed && freed->is_page_locked;
  SignalLine()
      .text(is_page_locked ? "plat error: the host tried to "
                           : "plat error: VMM-Host-dereference: the host tried to ")
      .text(access == os::Access::Write  ? "write"
            : access == os::Access::Read ? "read"
                                         : "touch")
      .text(is_page_locked ? " page-locked memory that was freed, at " : " device address ")
      .hex(address)
      .text(" (pid ")
      .number(static_cast<uint64_t>(os::process_id()))
      .text(")");
  freed ? explain_free(*freed, address) : explain_place(vmm, *range, address);
  SignalLine().text(
      is_page_locked ? "  Page-locked memory cannot be touched after it is freed. Free it after its last use."
                     : "  Device memory cannot be touched from the host. Copy with aclrtMemcpy, or set "
                       "PLAT_HOST_ACCESS=allow.");
  if (freed && freed->stack_frames > 0)
    os::print_stack("  Freed at:", {freed->stack.data(), freed->stack_frames});
  else if (freed)
    SignalLine().text("  With PLAT_STACKS=1 the stack that freed it is shown too.");
  os::print_stack();
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

void explain_host_faults(const Vmm& vmm, FindFreed find_freed) {
  find_freed_block.store(find_freed, std::memory_order_release);
  watched.store(&vmm, std::memory_order_release);
  static std::once_flag installed;
  std::call_once(installed, [] {
    os::prepare_stacks();  // now, where allocating is still allowed
    os::put_in_front(SIGSEGV, on_fault);
    os::put_in_front(SIGBUS, on_fault);
  });
}

}  // namespace plat::vmm
