// SPDX-License-Identifier: Apache-2.0
#include "vmm/contents.h"

#include <cstring>
#include <set>

#include "base/text.h"
#include "os/memory.h"
#include "rules/rules.h"

namespace plat::vmm {

using core::kPageBytes;

namespace {

bool may_hold_bytes(const device::Bank& bank, device::PageId page) {
  return bank.is_committed(page) || bank.is_exposed(page);
}

}  // namespace

std::vector<Vmm::OwnBlock> Vmm::own_blocks() {
  const std::lock_guard lock(mutex_);
  std::set<OwnBlock> blocks;
  for (uint32_t index = 0; index < space_.mapping_slots(); ++index) {
    const Mapping& mapping = space_.live_mapping(MappingId(index));
    const PageEntry entry = space_.entry(Va{mapping.start.load(std::memory_order_relaxed)});
    const bool live = mapping.size_bytes.load(std::memory_order_relaxed) != 0 &&
                      entry.tag() == PageEntry::Mapped && entry.mapping() == MappingId(index);
    if (live && device::is_of_device(entry.bank()) &&
        mapping.kind.load(std::memory_order_relaxed) == MappingKind::Region)
      blocks.insert({entry.bank(), mapping.block});
  }
  handles_.for_each_live([&](HandleIndex, const Physical& physical) {
    if (!physical.remote && !physical.imported && device::is_of_device(physical.bank->id()))
      blocks.insert({physical.bank->id(), physical.block});
  });
  return {blocks.begin(), blocks.end()};
}

Result<Contents> Contents::save(Vmm& vmm) {
  const std::vector<Vmm::OwnBlock> owned = vmm.own_blocks();
  uint64_t needed = 0;
  for (const auto& [number, index] : owned) {
    device::Bank& bank = *vmm.node().open_bank(number);
    bank.ledger().for_each_page(
        index, [&](device::PageId page) { needed += may_hold_bytes(bank, page) ? kPageBytes : 0; });
  }
  const os::Headroom room = os::headroom();
  const uint64_t kept_back = vmm.node().config().keep_back_bytes;
  if (room.available_bytes < needed || room.available_bytes - needed < kept_back)
    return fail(RuleId::SnapshotBackup, "pid", "{} are needed, {} has {} left, of which {} are kept back",
                format_bytes(needed), room.limited_by, format_bytes(room.available_bytes),
                format_bytes(kept_back));
  Contents contents;
  for (const auto& [number, index] : owned) {
    device::Bank& bank = *vmm.node().open_bank(number);
    Block block{number, index, bank.ledger().record(index).generation, {}};
    bank.ledger().for_each_page(index, [&](device::PageId page) {
      Page saved{page, nullptr};
      if (may_hold_bytes(bank, page)) {
        saved.bytes = std::make_unique_for_overwrite<std::byte[]>(kPageBytes);
        std::memcpy(saved.bytes.get(), bank.page_memory(page), kPageBytes);
      }
      block.pages.push_back(std::move(saved));
    });
    contents.blocks_.push_back(std::move(block));
  }
  return contents;
}

Result<> Contents::restore(Vmm& vmm) const {
  std::set<device::BankId> banks;
  for (const Block& block : blocks_) {
    device::Bank& bank = *vmm.node().open_bank(block.bank);
    const device::Ledger::Lock lock(bank.ledger());
    if (bank.ledger().record(block.index).generation != block.generation ||
        !bank.ledger().held_by_me_locked(block.index))
      return fail(RuleId::SnapshotRestore, "pid", "a block of {} on device {} was freed since the backup",
                  format_bytes(block.pages.size() * kPageBytes), vmm.node().logical_id(block.bank.value));
    banks.insert(block.bank);
  }
  for (const device::BankId number : banks) {
    device::Ledger& ledger = vmm.node().open_bank(number)->ledger();
    for (const device::Holder& holder : ledger.holders())
      if (holder.bytes != 0 && holder.pid != ledger.my_slot().pid)
        return fail(RuleId::SnapshotRestore, "pid", "process {} ({}) has {} of device {}", holder.pid,
                    holder.name, format_bytes(holder.bytes), vmm.node().logical_id(number.value));
  }
  // Pages take their memory before the first byte is written.
  for (const Block& block : blocks_)
    for (const Page& page : block.pages)
      if (page.bytes != nullptr) PLAT_TRY(vmm.node().open_bank(block.bank)->commit(page.number));
  for (const Block& block : blocks_)
    for (const Page& page : block.pages) {
      device::Bank& bank = *vmm.node().open_bank(block.bank);
      if (page.bytes != nullptr)
        std::memcpy(bank.page_memory(page.number), page.bytes.get(), kPageBytes);
      else if (may_hold_bytes(bank, page.number))
        std::memset(bank.page_memory(page.number), 0, kPageBytes);
    }
  return {};
}

uint64_t Contents::size_bytes() const {
  uint64_t bytes = 0;
  for (const Block& block : blocks_)
    for (const Page& page : block.pages) bytes += page.bytes != nullptr ? kPageBytes : 0;
  return bytes;
}

}  // namespace plat::vmm
