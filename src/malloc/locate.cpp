// SPDX-License-Identifier: Apache-2.0
#include "malloc/locate.h"

#include "rules/rules.h"
#include "vmm/translate.h"

namespace plat::malloc {

namespace {
// Blocks have whole pages: the rest of the last one is theirs too.
Va page_around(Va va) { return Va{align_down(va.value, kNormalPageBytes)}; }
}  // namespace

bool Locator::is_client_mapping(Va va) const {
  const vmm::AddressSpace& space = devices_.vmm().space();
  const vmm::PageEntry entry = space.entry(va);
  return entry.has_mapping() &&
         space.mapping(entry.mapping())->kind.load(std::memory_order_acquire) == vmm::MappingKind::Client;
}

bool Locator::is_managed_mapping(Va va) const {
  const vmm::AddressSpace& space = devices_.vmm().space();
  const vmm::PageEntry entry = space.entry(va);
  return entry.tag() == vmm::PageEntry::Mapped &&
         space.mapping(entry.mapping())->kind.load(std::memory_order_acquire) == vmm::MappingKind::Managed;
}

std::optional<uint64_t> Locator::page_bytes(Va va) const {
  if (const auto block = devices_.find(page_around(va))) return malloc::page_bytes(block->pages);
  vmm::Vmm& vmm = devices_.vmm();
  const auto still = vmm.keep_still();
  const vmm::PageEntry entry = vmm.space().entry(va);
  if (!entry.has_mapping()) return std::nullopt;
  const vmm::Mapping& mapping = vmm.space().live_mapping(entry.mapping());
  if (mapping.kind.load(std::memory_order_relaxed) == vmm::MappingKind::Client)
    return vmm.physical_of(mapping).page_bytes;
  if (mapping.kind.load(std::memory_order_relaxed) == vmm::MappingKind::Imported) return core::kPageBytes;
  return std::nullopt;
}

Result<vmm::SubBlocks::Block> Locator::range_around(Va va) const {
  if (const auto block = devices_.find(page_around(va)))
    return vmm::SubBlocks::Block{block->start, block->charged_bytes};
  vmm::Vmm& vmm = devices_.vmm();
  const auto still = vmm.keep_still();
  const bool valid = va.value >> core::kAddressBits == 0;
  const vmm::PageEntry entry = valid ? vmm.space().entry(va) : vmm::PageEntry{};
  const vmm::Mapping* mapping = entry.has_mapping() ? vmm.space().mapping(entry.mapping()) : nullptr;
  const vmm::SubBlocks* blocks =
      mapping == nullptr ? nullptr : mapping->sub_blocks.load(std::memory_order_relaxed);
  if (mapping != nullptr && blocks == nullptr)
    return vmm::SubBlocks::Block{Va{mapping->start.load(std::memory_order_relaxed)},
                                 mapping->size_bytes.load(std::memory_order_relaxed)};
  // Pools cut their memory themselves.
  if (blocks != nullptr)
    if (const auto block = blocks->block_at(va)) return *block;
  const std::string known = blocks == nullptr ? "" : devices_.history().tell(va);
  return fail(RuleId::AddressRangeUnknown, "ptr", "{:#x} is {}{}{}", va.value,
              valid ? vmm::describe(vmm.space(), va) : "no address", known.empty() ? "" : "; ", known);
}

}  // namespace plat::malloc
