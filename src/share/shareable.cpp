// SPDX-License-Identifier: Apache-2.0
#include "share/shareable.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <random>

#include "device/crash.h"
#include "os/process.h"
#include "rules/rules.h"

namespace plat::share {

using device::Bank;
using device::HandleRecord;
using device::HandleState;
using device::Ledger;

namespace {

// As the driver lays it out: share id in the low 32 bits, then 8 bits of device; the bits above are ours. Of
// the share id the low 20 bits are the record's index, so that no search is needed; all the rest is random.
constexpr unsigned kIndexBits = 20;
constexpr uint64_t kIndexMask = (uint64_t{1} << kIndexBits) - 1;
constexpr uint64_t kDeviceMask = uint64_t{0xFF} << 32;

uint64_t number_of(uint32_t device, uint32_t index, uint64_t random) {
  return (random & ~(kIndexMask | kDeviceMask)) | uint64_t{device} << 32 | index;
}
uint32_t index_of(uint64_t number) { return static_cast<uint32_t>(number & kIndexMask); }

tl::unexpected<Error> unknown(uint64_t number) {
  return fail(RuleId::ShareUnknown, "shareableHandle", "{:#x} names no live export", number);
}

// The bank that the number names. A made-up device is as unknown as a made-up number.
Result<Bank*> bank_of(vmm::Vmm& vmm, uint64_t number) {
  const uint32_t device = device_of(number);
  if (device >= vmm.node().config().device_count && device != device::kHostBank) return unknown(number);
  return vmm.node().bank(device);
}

// Under the ledger's lock.
HandleRecord* find_export(Ledger& ledger, uint64_t number) {
  const uint32_t index = index_of(number);
  if (number == 0 || index >= ledger.handle_count()) return nullptr;
  HandleRecord& record = ledger.record(index);
  const bool live = record.state.load(std::memory_order_acquire) == HandleState::Allocated;
  return live && record.share_secret == number ? &record : nullptr;
}

}  // namespace

uint32_t device_of(uint64_t number) { return static_cast<uint32_t>((number & kDeviceMask) >> 32); }

uint64_t secret(device::Node& node) {
  static std::atomic<uint64_t> drawn{0};
  if (!node.config().seed) return os::random_number();
  std::mt19937_64 generator(*node.config().seed + drawn.fetch_add(1));
  return generator();
}

Result<std::vector<int32_t>> usable_pids(std::span<const int32_t> pids) {
  if (pids.size() > kMaxPids) return fail(RuleId::SharePidCount, "pidNum", "{} pids", pids.size());
  std::vector<int32_t> usable;
  std::copy_if(pids.begin(), pids.end(), std::back_inserter(usable), [](int32_t pid) { return pid > 0; });
  if (usable.empty()) return fail(RuleId::SharePidsZero, "pid", "none of {} pids is above 0", pids.size());
  return usable;
}

Result<uint64_t> export_handle(vmm::Vmm& vmm, vmm::PhysicalHandle handle, uint64_t flags) {
  if (flags > kNoPidValidation) return fail(RuleId::ShareFlags, "flags", "flags is {}", flags);
  const std::lock_guard lock(vmm.mutex());
  PLAT_ASSIGN(index, vmm.handles().find(handle, "handle"));
  vmm::Physical& physical = vmm.handles().at(index);
  if (physical.imported)
    return fail(RuleId::ShareImported, "handle", "handle {:#x} was imported as {:#x}", handle.value,
                physical.share_number);
  if (physical.references == physical.map_references)
    return fail(RuleId::HandleStale, "handle", "handle {:#x} was freed; only its {} mapping(s) live on",
                handle.value, physical.map_references);
  if (physical.exported)
    return fail(RuleId::ShareTwice, "handle", "handle {:#x} was exported as {:#x}", handle.value,
                physical.share_number);
  Ledger& ledger = physical.bank->ledger();
  uint64_t number = 0;
  while (number >> 40 == 0)
    number = number_of(physical.bank->device_number(), physical.block, secret(vmm.node()));
  {
    const Ledger::Lock ledger_lock(ledger);
    HandleRecord& record = ledger.record(physical.block);
    record.exporter = ledger.incarnation();
    record.share_flags = static_cast<uint32_t>(flags);
    device::crash_point("export-record");
    record.share_secret = number;
  }
  physical.exported = true;
  physical.share_number = number;
  return number;
}

Result<> allow(vmm::Vmm& vmm, uint64_t number, std::span<const int32_t> pids) {
  PLAT_ASSIGN(usable, usable_pids(pids));
  PLAT_ASSIGN(bank, bank_of(vmm, number));
  Ledger& ledger = bank->ledger();
  const Ledger::Lock lock(ledger);
  HandleRecord* record = find_export(ledger, number);
  if (record == nullptr) return unknown(number);
  if (record->exporter != ledger.incarnation())
    return fail(RuleId::ShareNotExporter, "shareableHandle", "another process exported {:#x}", number);
  if ((record->share_flags & kNoPidValidation) != 0)
    return fail(RuleId::ShareNoWhitelist, "shareableHandle", "{:#x} was exported without pid validation",
                number);
  if (!ledger.add_to_whitelist_locked(record->whitelist, usable))
    return fail(RuleId::ShareFull, "pid", "no room for {} more pids on device {}", usable.size(),
                bank->device_number());
  return {};
}

namespace {

// A breach of a relaxed rule goes to `warning`, to be told when no lock is held.
Result<> note(std::optional<Error>& warning, Error breach) {
  if (report::severity(breach.rule) == rules::Severity::Error) return forward(std::move(breach));
  warning = std::move(breach);
  return {};
}

Result<vmm::PhysicalHandle> import_from(vmm::Vmm& vmm, Bank* bank, uint64_t number, uint32_t device,
                                        std::optional<Error>& warning) {
  Ledger& ledger = bank->ledger();
  const uint32_t block = index_of(number);
  const std::lock_guard lock(vmm.mutex());
  const Ledger::Lock ledger_lock(ledger);
  HandleRecord* record = find_export(ledger, number);
  if (record == nullptr) return unknown(number);
  const bool own = record->exporter == ledger.incarnation();
  if (own)
    PLAT_TRY(note(warning, Error{RuleId::ShareOwnProcess, "shareableHandle",
                                 fmt::format("this process (pid {}) exported {:#x} itself",
                                             ledger.my_slot().pid, number)}));
  if (!own && (record->share_flags & kNoPidValidation) == 0 &&
      !ledger.is_whitelisted_locked(record->whitelist, ledger.my_slot().bare_pid))
    return fail(RuleId::ShareDenied, "shareableHandle", "pid {} is not on the whitelist of {:#x}",
                ledger.my_slot().bare_pid, number);
  // A block is held once by a process, however many of its parts import it.
  const uint32_t known = ledger.held_by_me_locked(block) ? vmm.handles().find_block(bank, block) : UINT32_MAX;
  if (known != UINT32_MAX) {
    vmm::Physical& physical = vmm.handles().at(known);
    if (!own)
      PLAT_TRY(note(warning, Error{RuleId::ShareImportTwice, "shareableHandle",
                                   fmt::format("{:#x} is already handle {:#x}", number,
                                               vmm.handles().handle_of(known).value)}));
    physical.references += 1;
    return vmm.handles().handle_of(known);
  }
  vmm::PhysicalHandle handle;
  uint32_t index = 0;
  vmm::Physical* physical = vmm.handles().add(handle, index);
  if (physical == nullptr)
    return fail(RuleId::OutOfHandles, "handle", "this process has {} handles", vmm.handles().live());
  ledger.hold_locked(block);
  device::crash_point("import-held");
  physical->bank = bank;
  physical->block = block;
  physical->size_bytes = uint64_t{record->page_count} * core::kPageBytes;
  physical->page_bytes =
      vmm::is_giant(static_cast<aclrtMemAttr>(record->attribute)) ? vmm::kGiantPageBytes : core::kPageBytes;
  physical->imported = true;
  physical->share_number = number;
  physical->extra_access = device < device::kMaxDevices ? uint64_t{1} << device : 0;
  return handle;
}

}  // namespace

Result<vmm::PhysicalHandle> import_handle(vmm::Vmm& vmm, uint64_t number, uint32_t device) {
  PLAT_ASSIGN(bank, bank_of(vmm, number));
  std::optional<Error> warning;
  auto handle = import_from(vmm, bank, number, device, warning);
  // Only now: whoever reads the warnings may be slow, and all processes would wait for the device lock.
  if (warning && handle) PLAT_TRY(report::soft(*warning));
  return handle;
}

}  // namespace plat::share
