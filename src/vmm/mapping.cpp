// SPDX-License-Identifier: Apache-2.0
// Mapping and unmapping.
#include <cerrno>
#include <cstring>

#include "base/text.h"
#include "device/fault.h"
#include "device/report.h"
#include "os/memory.h"
#include "os/uncancelled.h"
#include "rules/rules.h"
#include "vmm/shortcuts.h"
#include "vmm/vmm.h"

namespace plat::vmm {

using core::kPageBytes;
using device::kHostBank;

namespace {
std::string name_of(Home home) {
  if (home.elsewhere) return fmt::format("other servers by way of device {}", home.bank.value);
  return home.bank == kHostBank ? "the host" : fmt::format("device {}", home.bank.value);
}
}  // namespace

Result<Vmm::Target> Vmm::check_map(Va start, uint64_t size_bytes, const Physical& physical) {
  const ReservationId id = space_.reservation_at(start);
  Reservation* range = id == ReservationId::none() ? nullptr : space_.reservation(id);
  if (range == nullptr) return fail(RuleId::MapOutside, "virPtr", "{:#x} is in no reservation", start.value);
  if (range->internal)
    return fail(RuleId::MapKind, "virPtr", "{:#x} lies in a block of another call that starts at {:#x}",
                start.value, range->start.load(std::memory_order_relaxed));
  const uint64_t page_bytes = physical.page_bytes;
  if (!is_aligned(start.value, page_bytes) || !is_aligned(size_bytes, page_bytes))
    return fail(RuleId::MapAligned, is_aligned(size_bytes, page_bytes) ? "virPtr" : "size",
                "virPtr is {:#x}, size is {} bytes; both must be multiples of {}", start.value, size_bytes,
                format_bytes(page_bytes));
  const uint64_t range_start = range->start.load(std::memory_order_relaxed);
  const uint64_t range_size = range->size_bytes.load(std::memory_order_relaxed);
  const uint64_t offset = start.value - range_start;
  if (size_bytes > range_size - offset)
    return fail(RuleId::MapPastEnd, "size", "{} bytes at offset {} of the reservation of {} bytes at {:#x}",
                size_bytes, offset, range_size, range_start);
  // Before the pages are looked at one by one: a size beyond the handle's could take long.
  if (size_bytes > physical.size_bytes)
    return fail(RuleId::MapTooLarge, "size", "size is {} bytes, the handle has {}", size_bytes,
                physical.size_bytes);
  for (uint64_t at = 0; at < size_bytes; at += kPageBytes) {
    const PageEntry entry = space_.entry(start + at);
    if (!entry.has_mapping()) continue;
    const Mapping& other = space_.live_mapping(entry.mapping());
    return fail(RuleId::MapOverlap, "virPtr", "[{:#x}, {:#x}) overlaps the mapping of {} bytes at {:#x}",
                start.value, start.value + size_bytes, other.size_bytes.load(std::memory_order_relaxed),
                other.start.load(std::memory_order_relaxed));
  }
  PLAT_TRY(report::check_soft(size_bytes == physical.size_bytes, RuleId::MapPart, "size",
                              "size is {} bytes, the handle has {}", size_bytes, physical.size_bytes));
  if (range->cross_server) return Target{id, range};
  if (range->page_bytes != 0 && range->page_bytes != page_bytes)
    return fail(RuleId::MapPageType, "handle", "the reservation at {:#x} has pages of {}, the handle of {}",
                range_start, format_bytes(range->page_bytes), format_bytes(page_bytes));
  const Home home = home_of(physical);
  if (range->home != Home{} && range->home != home)
    return fail(RuleId::MapTwoDevices, "handle", "the reservation at {:#x} is bound to {}, the handle to {}",
                range_start, name_of(range->home), name_of(home));
  const Origin origin = physical.imported ? Origin::Imported : Origin::Own;
  PLAT_TRY(report::check_soft(
      range->origin == Origin::None || range->origin == origin, RuleId::MapMixedOrigin, "handle",
      "the reservation at {:#x} holds {} memory, the handle is {}", range_start,
      range->origin == Origin::Own ? "own" : "imported", origin == Origin::Own ? "an own one" : "imported"));
  const auto attribute =
      physical.remote ? physical.remote->properties().attribute
                      : static_cast<aclrtMemAttr>(physical.bank->ledger().record(physical.block).attribute);
  PLAT_TRY(report::check_soft(range->huge_page_flag != asks_normal_pages(attribute), RuleId::MapPageFlag,
                              "virPtr",
                              "the reservation at {:#x} was made with flags {}, the handle with "
                              "memAttr {}",
                              range_start, range->huge_page_flag ? 1 : 0, static_cast<int>(attribute)));
  return Target{id, range};
}

// Flat: what it consists of is called from here and hardly elsewhere, and a call is a third of some of it.
[[gnu::flatten]] Result<> Vmm::map(Va start, uint64_t size_bytes, uint64_t offset, PhysicalHandle handle,
                                   bool grant_owner) {
  if (offset != 0) return fail(RuleId::MapOffset, "offset", "offset is {}", offset);
  const std::lock_guard lock(mutex_);
  PLAT_ASSIGN(handle_index, handles_.find(handle, "handle"));
  Physical& physical = handles_.at(handle_index);
  if (physical.references == physical.map_references)
    return fail(RuleId::HandleStale, "handle", "handle {:#x} was freed; only its {} mapping(s) live on",
                handle.value, physical.map_references);
  PLAT_ASSIGN(target, check_map(start, size_bytes, physical));
  if (physical.remote)
    PLAT_TRY(install_remote(start, size_bytes, target.reservation, physical, handle_index, grant_owner));
  else
    PLAT_TRY(install({.start = start,
                      .size_bytes = size_bytes,
                      .reservation = target.reservation,
                      .bank = *physical.bank,
                      .block = physical.block,
                      .handle = handle_index,
                      .grant_owner = grant_owner,
                      .granted = physical.extra_access}));
  physical.references += 1;
  physical.map_references += 1;
  if (target.range->cross_server) return {};
  target.range->home = home_of(physical);
  target.range->origin = physical.imported ? Origin::Imported : Origin::Own;
  target.range->page_bytes = physical.page_bytes;
  return {};
}

Result<MappingId> Vmm::new_mapping() {
  const bool room = space_.mapping_count() < node_.config().mapping_limit;
  const MappingId id = room ? space_.take_mapping() : MappingId::none();
  if (room && !space_.is_full(id) && space_.mapping(id) != nullptr) return id;
  return fail(RuleId::OutOfHandles, "virPtr", "this process has {} mappings", space_.mapping_count());
}

// Writes the mapping and its page entries.
Result<MappingId> Vmm::install(const NewMapping& wanted) {
  PLAT_ASSIGN(id, new_mapping());
  Mapping* mapping = space_.mapping(id);
  const device::BankId number = wanted.bank.id();
  const bool on_host = number == kHostBank;
  const uint64_t devices = wanted.granted | (on_host ? 0 : uint64_t{1} << number.value);
  mapping->start.store(wanted.start.value, std::memory_order_relaxed);
  mapping->size_bytes.store(wanted.size_bytes, std::memory_order_relaxed);
  mapping->device_access.store(wanted.grant_owner ? devices : 0, std::memory_order_relaxed);
  mapping->host_access.store(wanted.grant_owner && on_host, std::memory_order_relaxed);
  mapping->set_bank(number);
  mapping->sub_blocks.store(wanted.sub_blocks, std::memory_order_relaxed);
  mapping->kind.store(wanted.kind, std::memory_order_relaxed);
  mapping->reservation.store(wanted.reservation, std::memory_order_relaxed);
  mapping->handle.store(wanted.handle, std::memory_order_relaxed);
  mapping->block = wanted.block;
  mapping->host_pieces = 0;
  if (on_host ? wanted.grant_owner : node_.config().host_access) {
    if (const auto exposed = expose_to_host(*mapping); !exposed) {
      space_.give_back_mapping(id);
      return forward(exposed.error());
    }
  }
  uint64_t offset = 0;
  wanted.bank.ledger().for_each_page(wanted.block, [&](device::PageId page) {
    if (offset < wanted.size_bytes) space_.store(wanted.start + offset, PageEntry::mapped(id, number, page));
    offset += kPageBytes;
  });
  if (fault::armed() && !on_host && wanted.kind != MappingKind::Imported && fault::take_break() &&
      !space_.broken().add(wanted.start))
    report::warning(fmt::format("{} pages are broken already: the memory at {:#x} stays whole",
                                BrokenPages::kMost, wanted.start.value));
  // Last: whoever is let in may remember the whole mapping, and go to any of its pages without a second look.
  mapping->users.store(0, std::memory_order_release);
  space_.live_reservation(wanted.reservation).mapping_count += 1;
  return id;
}

// The same for memory of another server: the entries lead to no pages, so that copies look twice.
Result<> Vmm::install_remote(Va start, uint64_t size_bytes, ReservationId reservation,
                             const Physical& physical, HandleIndex handle, bool grant_owner) {
  PLAT_ASSIGN(id, new_mapping());
  Mapping& mapping = space_.live_mapping(id);
  const uint32_t device = physical.remote_device;
  mapping.start.store(start.value, std::memory_order_relaxed);
  mapping.size_bytes.store(size_bytes, std::memory_order_relaxed);
  mapping.device_access.store(grant_owner ? uint64_t{1} << device : 0, std::memory_order_relaxed);
  mapping.host_access.store(false, std::memory_order_relaxed);
  mapping.set_bank(device::BankId(device));
  mapping.sub_blocks.store(nullptr, std::memory_order_relaxed);
  mapping.kind.store(MappingKind::Client, std::memory_order_relaxed);
  mapping.reservation.store(reservation, std::memory_order_relaxed);
  mapping.handle.store(handle, std::memory_order_relaxed);
  mapping.block = {};
  mapping.host_pieces = 0;
  for (uint64_t at = 0; at < size_bytes; at += kPageBytes)
    space_.store(start + at, PageEntry::remote(id, device::BankId(device),
                                               device::PageId(static_cast<uint32_t>(at / kPageBytes))));
  mapping.users.store(0, std::memory_order_release);
  space_.reservation(reservation)->mapping_count += 1;
  return {};
}

// Maps the pages at the device address itself, run by run. Memory is taken from the system as the host
// touches it.
Result<> Vmm::expose_to_host(Mapping& mapping) {
  device::Bank* bank = node_.open_bank(mapping.bank());
  device::Ledger& ledger = bank->ledger();
  const uint64_t start = mapping.start.load(std::memory_order_relaxed);
  const uint64_t size_bytes = mapping.size_bytes.load(std::memory_order_relaxed);
  struct Run {
    uint64_t first_page, pages, offset;
  };
  std::vector<Run> runs;
  uint64_t offset = 0;
  ledger.for_each_page(mapping.block, [&](device::PageId page) {
    if (offset >= size_bytes) return;
    bank->expose(page);
    if (!runs.empty() && runs.back().first_page + runs.back().pages == page.value)
      runs.back().pages += 1;
    else
      runs.push_back({page.value, 1, offset});
    offset += kPageBytes;
  });
  if (host_mappings_ + runs.size() > host_mapping_limit_)
    return fail(RuleId::HostMappings, "virPtr",
                "{} pieces are mapped for the host, {} more pass the limit of {}", host_mappings_,
                runs.size(), host_mapping_limit_);
  const bool file_is_ours = ledger.data_fd_is_ours();  // the program may have closed it
  for (const Run& run : runs) {
    const uint64_t bytes = run.pages * kPageBytes;
    const int error =
        file_is_ours
            ? os::map_at(start + run.offset, bytes, ledger.data_fd(), run.first_page * kPageBytes)
            : os::map_copy_at(start + run.offset, bytes,
                              bank->page_memory(device::PageId(static_cast<uint32_t>(run.first_page))));
    if (error == 0) continue;
    os::unmap_at(start, size_bytes);
    return fail(RuleId::HostMappings, "virPtr", "the system refused to map {} at {:#x}: {}",
                format_bytes(run.pages * kPageBytes), start + run.offset, std::strerror(error));
  }
  mapping.host_pieces = static_cast<uint32_t>(runs.size());
  host_mappings_ += runs.size();
  return {};
}

// Takes the mapping down, unless a copy is using it.
Result<> Vmm::uninstall(MappingId id) {
  Mapping& mapping = space_.live_mapping(id);
  const uint64_t start = mapping.start.load(std::memory_order_relaxed);
  const uint64_t size_bytes = mapping.size_bytes.load(std::memory_order_relaxed);
  int32_t nobody = 0;
  // Acquire: what the last user did comes before what happens to the memory now. Nothing is shown by closing.
  if (!mapping.users.compare_exchange_strong(nobody, Mapping::kClosing, std::memory_order_acquire))
    return fail(RuleId::UnmapBusy, "virPtr", "{} copies are using the mapping of {} bytes at {:#x}", nobody,
                size_bytes, start);
  if (const uint32_t users = Shortcuts::forget(mapping); users != 0) {
    mapping.users.store(0, std::memory_order_release);  // as install() does: it is the next that pins acquire
    return fail(RuleId::UnmapBusy, "virPtr", "{} copies are using the mapping of {} bytes at {:#x}", users,
                size_bytes, start);
  }
  const ReservationId reservation = mapping.reservation.load(std::memory_order_relaxed);
  for (uint64_t at = 0; at < size_bytes; at += kPageBytes)
    space_.store(Va{start + at}, space_.vacant(reservation, Va{start + at}));
  if (space_.broken().any()) space_.broken().remove(Va{start}, size_bytes);
  if (mapping.host_pieces != 0) {
    os::unmap_at(start, size_bytes);
    host_mappings_ -= mapping.host_pieces;
  }
  mapping.size_bytes.store(0, std::memory_order_release);
  space_.reservation(reservation)->mapping_count -= 1;
  space_.give_back_mapping(id);
  return {};
}

// Asks the system, and may wait for other processes.
void Vmm::Leftover::give_back() {
  if (bank == nullptr && !remote) return;
  const os::Uncancelled whole;
  if (bank != nullptr) bank->release(block);
  remote.reset();
}

Result<> Vmm::unmap(Va start) {
  PLAT_ASSIGN(leftover, unmap_locked(start));
  leftover.give_back();
  return {};
}

[[gnu::flatten]] Result<Vmm::Leftover> Vmm::unmap_locked(Va start) {
  const std::lock_guard lock(mutex_);
  const PageEntry entry = space_.entry(start);
  if (!is_aligned(start.value, kPageBytes) || space_.reservation_at(start) == ReservationId::none())
    return fail(RuleId::UnmapUnknownAddress, "virPtr", "{:#x} is {}", start.value,
                is_aligned(start.value, kPageBytes) ? "in no reservation" : "not aligned to 2 MiB");
  if (!entry.has_mapping())
    return fail(RuleId::UnmapUnknown, "virPtr", "{:#x} is reserved, but nothing is mapped there",
                start.value);
  const Mapping& mapping = space_.live_mapping(entry.mapping());
  const uint64_t mapping_start = mapping.start.load(std::memory_order_relaxed);
  if (mapping.kind.load(std::memory_order_relaxed) != MappingKind::Client)
    return fail(RuleId::UnmapUnknown, "virPtr", "{:#x} was not mapped by aclrtMapMem", start.value);
  if (mapping_start != start.value)
    return fail(RuleId::UnmapUnknown, "virPtr", "{:#x} lies {} bytes inside the mapping at {:#x}",
                start.value, start.value - mapping_start, mapping_start);
  const HandleIndex handle = mapping.handle.load(std::memory_order_relaxed);
  PLAT_TRY(uninstall(entry.mapping()));
  return drop_reference(handle);
}

Result<> Vmm::map_selected_link(Va target, uint64_t size_bytes, Va source) {
  if (!node_.product().cross_server)
    return fail(RuleId::ProductSupport, "linkIdx", "{} has no selectable links", node_.product().soc_name);
  PhysicalHandle handle;
  {
    const std::lock_guard lock(mutex_);
    const PageEntry entry = space_.entry(source);
    const Mapping* mapping = entry.has_mapping() ? space_.mapping(entry.mapping()) : nullptr;
    if (mapping == nullptr || mapping->kind.load(std::memory_order_relaxed) != MappingKind::Client ||
        mapping->start.load(std::memory_order_relaxed) != source.value)
      return fail(RuleId::AccessRange, "virPtrSrc", "{:#x} is not the start of a mapping", source.value);
    const HandleIndex index = mapping->handle.load(std::memory_order_relaxed);
    handles_.at(index).references += 1;  // for as long as it takes to map it
    handle = handles_.handle_of(index);
  }
  const auto mapped = map(target, size_bytes, 0, handle, true);
  const auto freed = free(handle);
  return mapped ? freed : mapped;
}

}  // namespace plat::vmm
