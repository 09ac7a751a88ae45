// SPDX-License-Identifier: Apache-2.0
#include "share/shareable.h"

#include <algorithm>
#include <atomic>
#include <random>

#include "device/crash.h"
#include "device/report.h"
#include "os/process.h"
#include "rules/rules.h"

namespace plat::share {

using device::Bank;
using device::BlockId;
using device::HandleRecord;
using device::HandleState;
using device::Ledger;

namespace {

// As the driver lays it out: share id in the low 32 bits, then 8 bits of device; the bits above are ours. Of
// the share id the low 20 bits are the record's index, so that no search is needed; all the rest is random.
constexpr unsigned kIndexBits = 20;
constexpr uint64_t kIndexMask = (uint64_t{1} << kIndexBits) - 1;
constexpr uint64_t kDeviceMask = uint64_t{0xFF} << 32;

uint64_t number_of(uint32_t device, BlockId block, uint64_t random) {
  return (random & ~(kIndexMask | kDeviceMask)) | uint64_t{device} << 32 | block.value;
}
BlockId block_of(uint64_t number) { return BlockId(static_cast<uint32_t>(number & kIndexMask)); }

Failed unknown(uint64_t number) {
  return fail(RuleId::ShareUnknown, "shareableHandle", "{:#x} names no live export", number);
}

// The bank that the number names. A made-up device is as unknown as a made-up number.
Result<Bank*> bank_of(vmm::Vmm& vmm, uint64_t number) {
  const device::BankId bank(device_of(number));
  if (bank.value >= vmm.node().config().device_count && bank != device::kHostBank) return unknown(number);
  return vmm.node().bank(bank);
}

// Under the ledger's lock.
HandleRecord* find_export(Ledger& ledger, uint64_t number, uint64_t fabric_key) {
  const BlockId block = block_of(number);
  if (number == 0 || block.value >= ledger.handle_count()) return nullptr;
  HandleRecord& record = ledger.record(block);
  const bool live = record.state.load(std::memory_order_acquire) == HandleState::Allocated;
  return live && record.share_secret == number && record.fabric_key == fabric_key ? &record : nullptr;
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

Result<> check_flags(uint64_t flags) {
  if (flags > kNoPidValidation) return fail(RuleId::ShareFlags, "flags", "flags is {}", flags);
  return {};
}

Result<Share> export_share(vmm::Vmm& vmm, vmm::PhysicalHandle handle, uint64_t flags, uint64_t fabric_key) {
  PLAT_TRY(check_flags(flags));
  const auto enter = [&](Bank& bank, BlockId block) {
    uint64_t number = 0;
    while (number >> 40 == 0) number = number_of(bank.id().value, block, secret(vmm.node()));
    Ledger& ledger = bank.ledger();
    const Ledger::Lock ledger_lock(ledger);
    HandleRecord& record = ledger.record(block);
    record.exporter = ledger.incarnation();
    record.share_flags = static_cast<uint32_t>(flags);
    record.fabric_key = fabric_key;
    device::crash_point("export-record");
    record.share_secret = number;
    return number;
  };
  PLAT_ASSIGN(made, vmm.export_block(handle, enter));
  return Share{made.number, made.bank->ledger().incarnation(), made.size_bytes, made.page_bytes};
}

Result<> allow(vmm::Vmm& vmm, uint64_t number, std::span<const int32_t> pids, uint64_t fabric_key) {
  PLAT_ASSIGN(usable, usable_pids(pids));
  PLAT_ASSIGN(bank, bank_of(vmm, number));
  Ledger& ledger = bank->ledger();
  const Ledger::Lock lock(ledger);
  HandleRecord* record = find_export(ledger, number, fabric_key);
  if (record == nullptr) return unknown(number);
  if (record->exporter != ledger.incarnation())
    return fail(RuleId::ShareNotExporter, "shareableHandle", "another process exported {:#x}", number);
  if ((record->share_flags & kNoPidValidation) != 0)
    return fail(RuleId::ShareNoWhitelist, "shareableHandle", "{:#x} was exported without pid validation",
                number);
  if (!ledger.add_to_whitelist_locked(record->whitelist, usable))
    return fail(RuleId::ShareFull, "pid", "no room for {} more pids on device {}", usable.size(),
                bank->id().value);
  return {};
}

namespace {

// Breaches of relaxed rules are told when no lock is held: whoever reads them may be slow, and all processes
// would wait for the device lock.
class Warnings {
 public:
  Result<> note(Error breach) {
    if (report::severity(breach.rule) == rules::Severity::Error) return forward(std::move(breach));
    breaches_.push_back(std::move(breach));
    return {};
  }
  Result<> tell() const {
    for (const Error& breach : breaches_) PLAT_TRY(report::soft(breach));
    return {};
  }

 private:
  std::vector<Error> breaches_;
};

// The driver refuses a process its own memory only where it lies already; documents know no import in the
// exporting process at all.
Result<> check_own(Warnings& warnings, uint64_t number, device::BankId bank, uint32_t device) {
  if (bank == device::kHostBank) return {};
  return warnings.note(
      Error{bank.value == device ? RuleId::ShareOwnProcess : RuleId::ShareOwnOtherDevice, "shareableHandle",
            fmt::format("this process exported {:#x} of device {} itself, and imports it on device {}",
                        number, bank.value, device)});
}

struct Wanted {
  uint64_t number, fabric_key;
  uint32_t device;
};

// Whether the process may have what it asks for. Under the ledger's lock.
Result<> check_import(Bank& bank, const Wanted& wanted, Warnings& warnings) {
  Ledger& ledger = bank.ledger();
  const HandleRecord* record = find_export(ledger, wanted.number, wanted.fabric_key);
  if (record == nullptr) return unknown(wanted.number);
  if (record->exporter == ledger.incarnation())
    PLAT_TRY(check_own(warnings, wanted.number, bank.id(), wanted.device));
  if ((record->share_flags & kNoPidValidation) == 0 &&
      !ledger.is_whitelisted_locked(record->whitelist, ledger.my_slot().bare_pid))
    return fail(RuleId::ShareDenied, "shareableHandle", "pid {} is not on the whitelist of {:#x}",
                ledger.my_slot().bare_pid, wanted.number);
  return {};
}

Result<vmm::PhysicalHandle> import_from(vmm::Vmm& vmm, Bank* bank, const Wanted& wanted, Warnings& warnings) {
  return vmm.import_block({.bank = bank,
                           .block = block_of(wanted.number),
                           .number = wanted.number,
                           .reach = wanted.device < device::kMaxDevices ? uint64_t{1} << wanted.device : 0,
                           .check = [&] { return check_import(*bank, wanted, warnings); },
                           .again =
                               [&](vmm::PhysicalHandle known) {
                                 return warnings.note(Error{RuleId::ShareImportTwice, "shareableHandle",
                                                            fmt::format("{:#x} is already handle {:#x}",
                                                                        wanted.number, known.value)});
                               }});
}

}  // namespace

Result<vmm::PhysicalHandle> import_handle(vmm::Vmm& vmm, uint64_t number, uint32_t device,
                                          uint64_t fabric_key) {
  PLAT_ASSIGN(bank, bank_of(vmm, number));
  Warnings warnings;
  auto handle = import_from(vmm, bank, {number, fabric_key, device}, warnings);
  if (handle) PLAT_TRY(warnings.tell());
  return handle;
}

Result<BlockId> hold_export(Bank& bank, uint64_t number, uint64_t fabric_key) {
  Ledger& ledger = bank.ledger();
  // What a process exported ends with it, also when nobody has called in since: who asks reaps.
  (void)ledger.usage();
  const Ledger::Lock lock(ledger);
  if (fabric_key == kNoFabricKey || find_export(ledger, number, fabric_key) == nullptr)
    return unknown(number);
  ledger.hold_locked(block_of(number));
  return block_of(number);
}

}  // namespace plat::share
