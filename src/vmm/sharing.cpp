// SPDX-License-Identifier: Apache-2.0
// Handles whose memory other processes know.
#include "device/crash.h"
#include "rules/rules.h"
#include "vmm/vmm.h"

namespace plat::vmm {

Result<Vmm::NewHandle> Vmm::new_handle() {
  NewHandle made{};
  made.physical = handles_.add(made.handle);
  if (made.physical == nullptr)
    return fail(RuleId::OutOfHandles, "handle", "this process has {} handles", handles_.size());
  return made;
}

Result<Vmm::Export> Vmm::export_block(PhysicalHandle handle, const EnterExport& enter) {
  const std::lock_guard lock(mutex_);
  PLAT_ASSIGN(index, handles_.find(handle, "handle"));
  Physical& physical = handles_.at(index);
  if (physical.imported)
    return fail(RuleId::ShareImported, "handle", "handle {:#x} was imported as {:#x}", handle.value,
                physical.share_number);
  if (physical.references == physical.map_references)
    return fail(RuleId::HandleStale, "handle", "handle {:#x} was freed; only its {} mapping(s) live on",
                handle.value, physical.map_references);
  if (physical.exported)
    return fail(RuleId::ShareTwice, "handle", "handle {:#x} was exported as {:#x}", handle.value,
                physical.share_number);
  physical.share_number = enter(*physical.bank, physical.block);
  physical.exported = true;
  return Export{physical.bank, physical.share_number, physical.size_bytes, physical.page_bytes};
}

Result<PhysicalHandle> Vmm::import_block(const Import& import) {
  device::Ledger& ledger = import.bank->ledger();
  const std::lock_guard lock(mutex_);
  const device::Ledger::Lock ledger_lock(ledger);
  PLAT_TRY(import.check());
  // Only who holds the block already can have imported it before; the search is long.
  const HandleIndex known = ledger.held_by_me_locked(import.block)
                                ? handles_.find_import(import.bank, import.block, import.reach)
                                : HandleIndex::none();
  if (known != HandleIndex::none()) {
    PLAT_TRY(import.again(handles_.handle_of(known)));
    handles_.at(known).references += 1;
    return handles_.handle_of(known);
  }
  PLAT_ASSIGN(made, new_handle());
  ledger.hold_locked(import.block);
  device::crash_point("import-held");
  const device::HandleRecord& record = ledger.record(import.block);
  made.physical->bank = import.bank;
  made.physical->block = import.block;
  made.physical->size_bytes = uint64_t{record.page_count} * core::kPageBytes;
  made.physical->page_bytes = page_bytes_of(static_cast<aclrtMemAttr>(record.attribute));
  made.physical->imported = true;
  made.physical->share_number = import.number;
  made.physical->extra_access = import.reach;
  return made.handle;
}

Result<PhysicalHandle> Vmm::import_remote(RemoteImport import) {
  const std::lock_guard lock(mutex_);
  PLAT_ASSIGN(made, new_handle());
  made.physical->size_bytes = import.size_bytes;
  made.physical->page_bytes = page_bytes_of(import.memory->properties().attribute);
  made.physical->remote = std::move(import.memory);
  made.physical->remote_device = import.device;
  made.physical->imported = true;
  made.physical->share_number = import.number;
  made.physical->extra_access = uint64_t{1} << import.device;
  return made.handle;
}

}  // namespace plat::vmm
