// SPDX-License-Identifier: Apache-2.0
#include "copy/mover.h"

#include <cstring>

#include "base/text.h"
#include "copy/bulk.h"
#include "copy/walk.h"
#include "device/report.h"
#include "os/file.h"
#include "os/memory.h"
#include "rules/rules.h"

namespace plat::copy {

using core::kPageBytes;
using malloc::HostUse;
using malloc::kNormalPageBytes;
using vmm::PinnedRange;

namespace {

// From here on the C library would pass the caches by; it does not when a copy comes to it in pieces.
constexpr uint64_t kBulkBytes = 16_MiB;
// Below, the price of a system call is more than what it saves.
constexpr uint64_t kFileWriteBytes = 64_KiB;

bool copy_bytes(std::byte* target, const std::byte* source, uint64_t size_bytes, uint64_t total_bytes) {
  if (total_bytes >= kBulkBytes && size_bytes < kBulkBytes)
    return os::call(copy_past_caches, target, source, size_bytes);
  return os::copy(target, source, size_bytes);
}

void fill_with_words(void* target, const void* value, size_t size_bytes) {
  std::fill_n(static_cast<uint32_t*>(target), size_bytes / sizeof(uint32_t),
              *static_cast<const uint32_t*>(value));
}

// The first write to a page. False after a fault. Writing through the file saves the page faults of a write
// through memory.
Result<bool> write_cold(const Extent& extent, const std::byte* source) {
  PLAT_TRY(extent.bank->commit(extent.page));
  uint64_t done = 0;
  device::Ledger& ledger = extent.bank->ledger();
  if (extent.size_bytes >= kFileWriteBytes && ledger.data_fd_is_ours())
    done = os::write_at(ledger.data_fd(), source, extent.size_bytes,
                        uint64_t{extent.page.value} * kPageBytes + extent.offset);
  return os::copy(extent.memory() + done, source + done, extent.size_bytes - done);
}

}  // namespace

// Adds what is known of memory that is no longer there.
Error Mover::explain(Error error, Va start, uint64_t size_bytes) const {
  const malloc::History& history = heap_.history();
  const vmm::AddressSpace& space = heap_.vmm().space();
  const vmm::ReservationId reservation = space.reservation_at(start);
  // Whatever was freed there before somebody reserved the range has nothing to do with it.
  const bool reserved =
      reservation != vmm::ReservationId::none() && !space.live_reservation(reservation).internal;
  if (!reserved && (error.rule == RuleId::CopyHole || error.rule == RuleId::CopyFreed)) {
    std::string known = history.tell(start);
    if (known.empty() && size_bytes > 0) known = history.tell(start + (size_bytes - 1));
    if (!known.empty()) {
      error.rule = RuleId::CopyFreed;
      error.detail += "; " + known;
    }
  } else if (error.rule == RuleId::CopyPastEnd) {
    if (const auto block = heap_.find(start)) error.detail += history.allocation_stack(block->start);
  }
  return error;
}

// Takes the memory of pages that the host can reach before we touch them: they may hold what it wrote, or
// nothing, and the machine may have no more to give.
Result<> Mover::settle(const PinnedRange& range) const {
  for (Va at = range.start(); at - range.start() < range.size_bytes();) {
    const PinnedRange::Piece piece = range.piece_at(at);
    if (bank(piece.bank).is_exposed(piece.page)) PLAT_TRY(bank(piece.bank).commit(piece.page));
    at = at + piece.size_bytes;
  }
  return {};
}

Result<PinnedRange> Mover::take(Va start, uint64_t size_bytes, uint32_t device, const char* parameter) const {
  auto range = PinnedRange::take(heap_.vmm().space(), start, size_bytes, device, parameter);
  if (!range) [[unlikely]]
    return forward(explain(range.error(), start, size_bytes));
  PLAT_TRY(settle(*range));
  return range;
}

// Memory of two devices. Both ranges are pinned.
Result<> Mover::check_peers(Va target, Va source) const {
  const vmm::AddressSpace& space = heap_.vmm().space();
  const vmm::PageEntry to = space.entry(target);
  const vmm::PageEntry from = space.entry(source);
  if (to.bank() == from.bank() || to.bank() == device::kHostBank || from.bank() == device::kHostBank)
      [[likely]]
    return {};
  const uint32_t target_device = to.bank().value;
  const uint32_t source_device = from.bank().value;
  const device::Node& node = heap_.vmm().node();
  const auto granted = [&](vmm::PageEntry memory, uint32_t device) {
    const vmm::Mapping& mapping = space.live_mapping(memory.mapping());
    return (mapping.device_access.load(std::memory_order_acquire) >> device & 1) != 0;
  };
  const bool allowed = node.is_peer(target_device, source_device) ||
                       node.is_peer(source_device, target_device) || granted(to, source_device) ||
                       granted(from, target_device);
  return report::check_soft(allowed, RuleId::CopyPeer, "dst",
                            "from device {} to device {}, and neither may reach the other",
                            node.logical_id(source_device), node.logical_id(target_device));
}

// For an address that stands for device memory and is none: whether it is memory at all.
Result<> Mover::probe(Va start, uint64_t size_bytes, const char* parameter) const {
  if (os::is_mapped(start.value, size_bytes)) return {};
  return forward(
      explain(Error{RuleId::CopyHostAddress, parameter,
                    fmt::format("nothing is mapped in [{:#x}, +{} bytes)", start.value, size_bytes)},
              start, size_bytes));
}

// The fault that has just ended a copy, on the side that is the host's.
Error Mover::blame_fault(Va start, uint64_t size_bytes, const char* parameter) const {
  const os::Fault fault = os::last_fault();
  const bool on_host = fault.address == 0 || fault.address - start.value < size_bytes;
  if (!on_host)
    return Error{RuleId::OutOfHostMemory, parameter,
                 fmt::format("the machine has no memory for the device's side of the {} bytes", size_bytes)};
  const char* what = fault.is_shortage()               ? "has no memory behind it"
                     : fault.address == 0              ? "is no address"
                     : os::is_mapped(fault.address, 1) ? "is mapped without the access it needs"
                                                       : "is not mapped";
  return explain(Error{RuleId::CopyHostAddress, parameter,
                       fmt::format("[{:#x}, +{} bytes): {:#x}, at offset {}, {}", start.value, size_bytes,
                                   fault.address == 0 ? start.value : fault.address,
                                   fault.address == 0 ? 0 : fault.address - start.value, what)},
                 start, size_bytes);
}

Error Mover::blame_fault(Va target, Va source, uint64_t size_bytes) const {
  const bool in_target = os::last_fault().address - target.value < size_bytes;
  return blame_fault(in_target ? target : source, size_bytes, in_target ? "dst" : "src");
}

Result<> Mover::check(Va start, uint64_t size_bytes, uint32_t device, const char* parameter) const {
  HostUse held;
  if (!locator_.is_device_address(start))
    return hosts_.hold(held, start, size_bytes, HostUse::Source, parameter);
  if (is_remote(start))
    PLAT_TRY(take_remote(start, size_bytes, device, parameter));
  else
    PLAT_TRY(take(start, size_bytes, device, parameter));
  return {};
}

bool Mover::copy_in_page(Va target, Va source, uint64_t size_bytes, uint32_t device, Claim claim) const {
  const vmm::AddressSpace& space = heap_.vmm().space();
  if (space.broken().any()) [[unlikely]]
    return false;
  const bool to_device = space.entry(target).tag() == vmm::PageEntry::Mapped;
  const Va on_device = to_device ? target : source;
  const Va on_host = to_device ? source : target;
  if ((to_device ? claim.source_on_device : claim.target_on_device) || locator_.is_device_address(on_host))
    return false;
  const vmm::PagePin pin(space, on_device, size_bytes, device);
  if (!pin) return false;
  device::Bank& owner = bank(pin.bank());
  HostUse held;
  if (!owner.is_committed(pin.page()) ||
      !hosts_.hold_again(held, on_host, size_bytes, to_device ? HostUse::Source : HostUse::Target))
    return false;
  vmm::Shortcuts::remember(space, pin.mapping(), device, owner, pin.block());
  std::byte* memory = owner.page_memory(pin.page()) + (on_device.value & (kPageBytes - 1));
  return to_device ? os::copy(memory, host(source), size_bytes) : os::copy(host(target), memory, size_bytes);
}

Result<> Mover::copy_anew(Va target, Va source, uint64_t size_bytes, uint32_t device, Claim claim) const {
  if (copy_in_page(target, source, size_bytes, device, claim)) return {};
  if (is_remote(target) || is_remote(source)) [[unlikely]]
    return copy_remote(target, source, size_bytes, device, claim);
  const bool to_device = locator_.is_device_address(target);
  const bool from_device = locator_.is_device_address(source);
  HostUse target_use;
  HostUse source_use;
  if (!to_device) PLAT_TRY(hosts_.hold(target_use, target, size_bytes, HostUse::Target, "dst"));
  if (!from_device) PLAT_TRY(hosts_.hold(source_use, source, size_bytes, HostUse::Source, "src"));
  if (claim.target_on_device && !to_device) [[unlikely]]
    PLAT_TRY(probe(target, size_bytes, "dst"));
  if (claim.source_on_device && !from_device) [[unlikely]]
    PLAT_TRY(probe(source, size_bytes, "src"));
  if (to_device && from_device) {
    PLAT_ASSIGN(targets, take(target, size_bytes, device, "dst"));
    PLAT_ASSIGN(sources, take(source, size_bytes, device, "src"));
    PLAT_TRY(check_peers(target, source));
    return move(targets, sources);
  }
  if (to_device) {
    PLAT_ASSIGN(range, take(target, size_bytes, device, "dst"));
    return write(range, host(source));
  }
  if (from_device) {
    PLAT_ASSIGN(range, take(source, size_bytes, device, "src"));
    return read(host(target), range);
  }
  if (!os::move(host(target), host(source), size_bytes))
    return forward(blame_fault(target, source, size_bytes));
  return {};
}

Result<> Mover::write(const PinnedRange& range, const std::byte* source) const {
  const uint64_t total = range.size_bytes();
  const std::byte* at = source;
  for (Walk walk(range, heap_.vmm().node()); !walk.done();) {
    const Extent extent = walk.next();
    bool done = false;
    if (extent.cold) {
      PLAT_ASSIGN(written, write_cold(extent, at));
      done = written;
    } else {
      done = copy_bytes(extent.memory(), at, extent.size_bytes, total);
    }
    if (!done) return forward(blame_fault(va_of(source), total, "src"));
    at += extent.size_bytes;
  }
  return {};
}

Result<> Mover::read(std::byte* target, const PinnedRange& range) const {
  const uint64_t total = range.size_bytes();
  std::byte* at = target;
  for (Walk walk(range, heap_.vmm().node()); !walk.done();) {
    const Extent extent = walk.next();
    const bool done = extent.cold ? os::fill(at, 0, extent.size_bytes)
                                  : copy_bytes(at, extent.memory(), extent.size_bytes, total);
    if (!done) return forward(blame_fault(va_of(target), total, "dst"));
    at += extent.size_bytes;
  }
  return {};
}

Result<> Mover::move(const PinnedRange& target, const PinnedRange& source) const {
  Walk to(target, heap_.vmm().node());
  Walk from(source, heap_.vmm().node());
  while (!from.done()) {
    const uint64_t size_bytes = std::min(to.available(), from.available());
    const Extent out = to.next(size_bytes);
    const Extent in = from.next(size_bytes);
    if (in.cold && out.cold) continue;  // zeros onto zeros
    PLAT_TRY(out.bank->commit(out.page));
    if (in.cold)
      std::memset(out.memory(), 0, size_bytes);
    else  // two ranges of one allocation may overlap
      std::memmove(out.memory(), in.memory(), size_bytes);
  }
  return {};
}

Result<> Mover::copy_2d(const Area& area, uint32_t device, Claim claim) const {
  const uint64_t target_span = (area.height - 1) * area.target_pitch + area.width;
  const uint64_t source_span = (area.height - 1) * area.source_pitch + area.width;
  // All rows are checked before the first one moves.
  PLAT_TRY(check(area.target, target_span, device, "dst"));
  PLAT_TRY(check(area.source, source_span, device, "src"));
  if (area.width == area.target_pitch && area.width == area.source_pitch)
    return copy(area.target, area.source, target_span, device, claim);
  for (uint64_t row = 0; row < area.height; ++row)
    PLAT_TRY(copy(area.target + row * area.target_pitch, area.source + row * area.source_pitch, area.width,
                  device, claim));
  return {};
}

Result<> Mover::fill(Va target, uint64_t size_bytes, uint8_t value, uint32_t device) const {
  if (locator_.is_device_address(target))
    return fill_pattern(target, size_bytes, value * 0x01010101u, device);
  HostUse held;
  PLAT_TRY(hosts_.hold(held, target, size_bytes, HostUse::Target, "devPtr"));
  if (!os::fill(host(target), value, size_bytes)) return forward(blame_fault(target, size_bytes, "devPtr"));
  return {};
}

Result<> Mover::fill_words(Va target, uint64_t count, uint32_t value, uint32_t device) const {
  if (locator_.is_device_address(target)) return fill_pattern(target, count * sizeof(value), value, device);
  HostUse held;
  PLAT_TRY(hosts_.hold(held, target, count * sizeof(value), HostUse::Target, "ptr"));
  if (!os::call(fill_with_words, host(target), &value, count * sizeof(value)))
    return forward(blame_fault(target, count * sizeof(value), "ptr"));
  return {};
}

Result<> Mover::fill_pattern(Va target, uint64_t size_bytes, uint32_t pattern, uint32_t device) const {
  if (is_remote(target)) [[unlikely]]
    return fill_remote(target, size_bytes, pattern, device);
  PLAT_ASSIGN(range, take(target, size_bytes, device, "devPtr"));
  const bool same_bytes = pattern == (pattern & 0xFF) * 0x01010101u;
  for (Walk walk(range, heap_.vmm().node()); !walk.done();) {
    const Extent extent = walk.next();
    if (extent.cold && pattern == 0) continue;
    PLAT_TRY(extent.bank->commit(extent.page));
    if (same_bytes)
      std::memset(extent.memory(), static_cast<int>(pattern & 0xFF), extent.size_bytes);
    else  // words are aligned, and so are extents of them
      std::fill_n(reinterpret_cast<uint32_t*>(extent.memory()), extent.size_bytes / sizeof(pattern), pattern);
  }
  return {};
}

Result<uint64_t> Mover::load(Va address, uint32_t device) const {
  PLAT_ASSIGN(range, take(address, sizeof(uint64_t), device, "devAddr"));
  Walk walk(range, heap_.vmm().node());
  const Extent extent = walk.next();
  if (extent.cold) return uint64_t{0};
  return __atomic_load_n(reinterpret_cast<uint64_t*>(extent.memory()), __ATOMIC_ACQUIRE);
}

Result<> Mover::store(Va address, uint64_t value, uint32_t device) const {
  PLAT_ASSIGN(range, take(address, sizeof(uint64_t), device, "devAddr"));
  Walk walk(range, heap_.vmm().node());
  const Extent extent = walk.next();
  PLAT_TRY(extent.bank->commit(extent.page));
  __atomic_store_n(reinterpret_cast<uint64_t*>(extent.memory()), value, __ATOMIC_RELEASE);
  return {};
}

}  // namespace plat::copy
