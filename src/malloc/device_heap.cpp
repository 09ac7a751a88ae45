// SPDX-License-Identifier: Apache-2.0
#include "malloc/device_heap.h"

#include "base/text.h"
#include "device/report.h"
#include "rules/rules.h"

namespace plat::malloc {

DeviceHeap::~DeviceHeap() {
  for (auto& heap : small_) delete heap.load(std::memory_order_acquire);
}

SmallHeap& DeviceHeap::small(device::BankId bank) {
  if (SmallHeap* heap = small_[bank.value].load(std::memory_order_acquire)) [[likely]]
    return *heap;
  const std::lock_guard lock(mutex_);
  if (SmallHeap* heap = small_[bank.value].load(std::memory_order_acquire)) return *heap;
  auto* heap = new SmallHeap(vmm_, bank);  // kept as long as the heap, like the bank
  small_[bank.value].store(heap, std::memory_order_release);
  return *heap;
}

namespace {

// Really, or because the fault plan has it so.
bool is_full(const Result<Va>& result) {
  return !result &&
         (result.error().rule == RuleId::OutOfMemory || result.error().rule == RuleId::FaultCapacity);
}

}  // namespace

Result<Va> DeviceHeap::allocate(const BlockRequest& wanted, device::BankId bank, uint16_t module,
                                Family family, const MakeRoom& make_room) {
  PLAT_TRY(vmm_.node().bank(bank));
  const BlockTag tag{wanted.asked_bytes, static_cast<uint8_t>(wanted.block_bytes - wanted.asked_bytes),
                     module, family};
  device::BlockInfo info;
  info.attribute = static_cast<uint8_t>(attribute_of(wanted, vmm_.node().product()));
  info.location_type = ACL_MEM_LOCATION_TYPE_DEVICE;
  info.location_id = bank.value;
  info.asked_bytes = wanted.asked_bytes;
  const bool media = family == Family::Media || family == Family::MediaMpi;
  info.purpose = wanted.pages == Pages::Normal ? device::Purpose::SmallPages
                 : media                       ? device::Purpose::Media
                                               : device::Purpose::Device;
  BlockRequest actual = wanted;
  const auto attempt = [&] {
    return actual.pages == Pages::Normal ? small(bank).allocate(tag, info)
                                         : allocate_large(actual, bank, tag, info);
  };
  auto start = attempt();
  if (is_full(start)) {
    // What is held for later, here and in pools, is needed now.
    const bool released = small(bank).release_idle();
    if ((make_room && make_room()) || released) start = attempt();
  }
  if (is_full(start) && wanted.falls_back) {
    actual.pages = Pages::Normal;
    info.purpose = device::Purpose::SmallPages;
    if (auto fallback = attempt()) start = fallback;
  }
  if (!start) return start;
  usage_[bank.value].add(module, actual.charged_bytes());
  history_.allocated(*start);
  return start;
}

Result<Va> DeviceHeap::allocate_large(const BlockRequest& wanted, device::BankId bank, const BlockTag& tag,
                                      const device::BlockInfo& info) {
  LargeBlock* block = nullptr;
  {
    const std::lock_guard lock(mutex_);
    const uint32_t index = large_.take();
    block = large_.find(index);
    if (block == nullptr) return fail(RuleId::OutOfHandles, "size", "this process has {} blocks", index);
    block->index = index;
  }
  struct Unfinished {
    ~Unfinished() {
      if (is_finished) return;
      const std::lock_guard lock(heap.mutex_);
      heap.large_.give_back(index);
    }
    DeviceHeap& heap;
    uint32_t index;
    bool is_finished = false;
  } unfinished{*this, block->index};
  vmm::Vmm::RegionRequest request;
  request.size_bytes = wanted.charged_bytes();
  request.alignment = page_bytes(wanted.pages);
  request.bank = bank;
  request.info = info;
  request.sub_blocks = block;
  PLAT_ASSIGN(region, vmm_.create_region(request));
  const std::lock_guard lock(mutex_);
  block->open(region.start, tag, wanted.pages);
  unfinished.is_finished = true;
  return region.start;
}

LargeBlock* DeviceHeap::large_at(Va va) const {
  const vmm::PageEntry entry = vmm_.space().entry(va);
  if (entry.tag() != vmm::PageEntry::Mapped) return nullptr;
  const vmm::SubBlocks* blocks =
      vmm_.space().mapping(entry.mapping())->sub_blocks.load(std::memory_order_acquire);
  return const_cast<LargeBlock*>(dynamic_cast<const LargeBlock*>(blocks));
}

Result<> DeviceHeap::check_family(Family of, Family by, Va va) const {
  const auto group = [](Family family) {
    return family == Family::Media || family == Family::MediaMpi ? family : Family::Device;
  };
  const auto name = [&](Family family) {
    return group(family) == Family::Media      ? "acldvppMalloc"
           : group(family) == Family::MediaMpi ? "hi_mpi_dvpp_malloc"
                                               : "aclrtMalloc or one of its kind";
  };
  return report::check_soft(group(of) == group(by), RuleId::FreeMixed, "devPtr",
                            "the block at {:#x} came from {}", va.value, name(of));
}

Result<> DeviceHeap::free(Va va, Family by, const char* how) {
  return ipc_.free_block(va, [&](share::Importers importers) {
    if (importers == share::Importers::Some) retire(va);
    return free_unshared(va, by, how);
  });
}

Result<> DeviceHeap::free_unshared(Va va, Family by, const char* how) {
  const vmm::PageEntry entry = vmm_.space().entry(va);
  if (entry.tag() != vmm::PageEntry::Mapped || !device::is_of_device(entry.bank()))
    return forward(not_a_block(va));
  if (LargeBlock* block = large_at(va)) {
    const auto tag = block->tag();
    if (!tag || block->start() != va) return forward(not_a_block(va));
    const uint64_t charged = align_up(tag->bytes(), page_bytes(block->pages()));
    PLAT_TRY(check_family(tag->family, by, va));
    PLAT_TRY(free_large(*block, va, *tag));
    usage_[entry.bank().value].remove(tag->module, charged);
    history_.freed(va, tag->asked_bytes, how, tag->extra_bytes);
    return {};
  }
  SmallHeap& heap = small(entry.bank());
  if (by == Family::Media || by == Family::MediaMpi)  // media memory is never in small pages
    if (const auto found = heap.find(va); found && found->block.start == va)
      PLAT_TRY(check_family(found->tag.family, by, va));
  PLAT_ASSIGN(tag, heap.free(va));
  if (!tag) return forward(not_a_block(va));
  usage_[entry.bank().value].remove(tag->module, align_up(tag->bytes(), kNormalPageBytes));
  history_.freed(va, tag->asked_bytes, how, tag->extra_bytes);
  return {};
}

Result<> DeviceHeap::free_large(LargeBlock& block, Va start, const BlockTag& tag) {
  {
    // Another thread may just have freed it, and a third may have got the same entry for a block of its own.
    std::unique_lock lock(mutex_);
    if (block.start() != start || !block.close()) {
      lock.unlock();
      return forward(not_a_block(start));
    }
  }
  if (const auto destroyed = vmm_.destroy_region(start); !destroyed) {
    const std::lock_guard lock(mutex_);
    block.reopen(tag);
    return fail(RuleId::FreeBusy, "devPtr", "a copy is using the block of {} bytes at {:#x}", tag.asked_bytes,
                start.value);
  }
  const std::lock_guard lock(mutex_);
  large_.give_back(block.index);
  return {};
}

// The block is about to be freed, and another process keeps it: its memory is not used again.
void DeviceHeap::retire(Va va) {
  const vmm::PageEntry entry = vmm_.space().entry(va);
  // A large block has pages of its own, which the other process keeps.
  if (entry.tag() == vmm::PageEntry::Mapped && large_at(va) == nullptr) small(entry.bank()).retire(va);
}

void DeviceHeap::release_device(device::BankId bank, const char* how) {
  std::vector<Va> starts;
  if (SmallHeap* heap = small_[bank.value].load(std::memory_order_acquire)) starts = heap->blocks();
  {
    const std::lock_guard lock(mutex_);
    for (uint32_t index = 0; index < large_.size(); ++index) {
      const LargeBlock& block = large_.at(index);
      if (block.tag() && vmm_.space().entry(block.start()).bank() == bank) starts.push_back(block.start());
    }
  }
  for (const Va start : starts)
    if (const auto found = find(start)) (void)free_unshared(start, found->tag.family, how);
  if (SmallHeap* heap = small_[bank.value].load(std::memory_order_acquire)) heap->release_idle();
}

// Why no block can be freed at an address.
Error DeviceHeap::not_a_block(Va va) {
  const auto error = [](RuleId rule, std::string detail) { return Error{rule, "devPtr", std::move(detail)}; };
  if (const auto found = find(va))
    return error(RuleId::FreeUnknown,
                 fmt::format("{:#x} lies {} bytes inside the block of {} bytes at {:#x}", va.value,
                             va - found->start, found->tag.asked_bytes, found->start.value));
  const vmm::AddressSpace& space = vmm_.space();
  const vmm::ReservationId id = space.reservation_at(va);
  const vmm::Reservation* range = id == vmm::ReservationId::none() ? nullptr : space.reservation(id);
  const vmm::PageEntry entry = space.entry(va);
  const bool mapped = entry.tag() == vmm::PageEntry::Mapped;
  // Not a block that another thread is freeing at this moment.
  if (range != nullptr && !range->internal && !mapped)
    return error(RuleId::FreeOtherKind,
                 fmt::format("{:#x} is in a range of aclrtReserveMemAddress", va.value));
  if (mapped) {
    const vmm::Mapping* mapping = space.mapping(entry.mapping());
    if (mapping->kind.load(std::memory_order_acquire) == vmm::MappingKind::Client)
      return error(RuleId::FreeOtherKind, fmt::format("{:#x} was mapped by aclrtMapMem", va.value));
    if (mapping->kind.load(std::memory_order_acquire) == vmm::MappingKind::Imported)
      return error(RuleId::FreeOtherKind, fmt::format("{:#x} was imported by a key", va.value));
  }
  if (const auto death = history_.death_at(va); death && death->start == va)
    return error(RuleId::FreeTwice, history_.tell(va));
  std::string known = history_.tell(va);
  return error(RuleId::FreeUnknown,
               known.empty() ? fmt::format("{:#x} is in no block of device memory", va.value) : known);
}

std::optional<DeviceHeap::Found> DeviceHeap::find(Va va) {
  const vmm::PageEntry entry = vmm_.space().entry(va);
  if (entry.tag() != vmm::PageEntry::Mapped || !device::is_of_device(entry.bank())) return std::nullopt;
  if (const LargeBlock* block = large_at(va)) {
    const auto tag = block->tag();
    if (!tag) return std::nullopt;
    return Found{block->start(), tag->bytes(), align_up(tag->bytes(), page_bytes(block->pages())),
                 block->pages(), *tag,         entry.bank()};
  }
  const vmm::Mapping* mapping = vmm_.space().mapping(entry.mapping());
  if (mapping->kind.load(std::memory_order_acquire) == vmm::MappingKind::Client) return std::nullopt;
  const auto found = small(entry.bank()).find(va);
  if (!found) return std::nullopt;
  return Found{found->block.start,
               found->block.size_bytes,
               align_up(found->block.size_bytes, kNormalPageBytes),
               Pages::Normal,
               found->tag,
               entry.bank()};
}

}  // namespace plat::malloc
