// SPDX-License-Identifier: Apache-2.0
#include "malloc/small_heap.h"

#include "rules/rules.h"

namespace plat::malloc {

namespace {
constexpr uint32_t kPagesPerHuge = core::kPageBytes / kNormalPageBytes;
// How many regions that may or may not have a fitting run are tried before a new one is taken.
constexpr int kDoubtfulTries = 16;

int bucket_of(uint32_t run) { return std::min(static_cast<int>(std::bit_width(run)) - 1, 9); }
}  // namespace

void SmallHeap::add_free_bytes(int64_t bytes) {
  vmm_.node().open_bank(bank_)->ledger().my_slot().small_free_bytes.fetch_add(static_cast<uint64_t>(bytes),
                                                                              std::memory_order_relaxed);
}

void SmallHeap::unlink(SmallRegion* region) {
  if (region->bucket < 0) return;
  if (region->previous != nullptr)
    region->previous->next = region->next;
  else
    buckets_[static_cast<size_t>(region->bucket)] = region->next;
  if (region->next != nullptr) region->next->previous = region->previous;
  region->previous = region->next = nullptr;
  region->bucket = -1;
}

// Moves the region to the bucket that it belongs to now.
void SmallHeap::place(SmallRegion* region) {
  const int bucket = region->run_limit() == 0 || region->retired ? -1 : bucket_of(region->run_limit());
  if (bucket == region->bucket) return;
  unlink(region);
  if (bucket < 0) return;
  SmallRegion*& head = buckets_[static_cast<size_t>(bucket)];
  region->next = head;
  if (head != nullptr) head->previous = region;
  head = region;
  region->bucket = bucket;
}

SmallRegion* SmallHeap::find_room(uint32_t pages, const BlockTag& tag, Va& start) {
  const auto attempt = [&](SmallRegion* region) {
    const auto found = region->allocate(pages, tag);
    place(region);
    if (found) start = *found;
    return found.has_value();
  };
  // Every region of a bucket above may have such a run; one that turns out not to moves down.
  const int sure = std::min(bucket_of(pages) + (std::has_single_bit(pages) ? 0 : 1), kBuckets - 1);
  for (int bucket = sure; bucket < kBuckets; ++bucket)
    for (SmallRegion* region = buckets_[static_cast<size_t>(bucket)]; region != nullptr;) {
      SmallRegion* const following = region->next;
      if (region->run_limit() >= pages && attempt(region)) return region;
      region = following;
    }
  int tries = kDoubtfulTries;
  for (SmallRegion* region = buckets_[static_cast<size_t>(bucket_of(pages))]; region != nullptr && tries > 0;
       --tries) {
    SmallRegion* const following = region->next;
    if (region->run_limit() >= pages && attempt(region)) return region;
    region = following;
  }
  return nullptr;
}

Result<SmallRegion*> SmallHeap::add_region(uint32_t pages, const device::BlockInfo& info) {
  const uint32_t page_count = (pages + kPagesPerHuge - 1) / kPagesPerHuge * kPagesPerHuge;
  SmallRegion* region = nullptr;
  const auto spare = spare_.find(page_count);
  if (spare != spare_.end()) {
    region = spare->second;
    spare_.erase(spare);
  } else {
    regions_.push_back(std::make_unique<SmallRegion>(page_count));
    region = regions_.back().get();
  }
  vmm::Vmm::RegionRequest request;
  request.size_bytes = uint64_t{page_count} * kNormalPageBytes;
  request.alignment = core::kPageBytes;
  request.bank = bank_;
  request.info = info;
  request.sub_blocks = region;
  const auto created = vmm_.create_region(request);
  if (!created) {
    spare_.emplace(page_count, region);
    return forward(created.error());
  }
  region->set_start(created->start);
  place(region);
  add_free_bytes(static_cast<int64_t>(request.size_bytes));
  return region;
}

// Gives an empty region's memory back. False while a copy holds on to it.
bool SmallHeap::drop_region(SmallRegion* region) {
  if (!vmm_.destroy_region(region->start())) return false;
  if (!region->retired)
    add_free_bytes(-static_cast<int64_t>(uint64_t{region->page_count()} * kNormalPageBytes));
  region->retired = false;
  unlink(region);
  if (idle_ == region) idle_ = nullptr;
  spare_.emplace(region->page_count(), region);
  return true;
}

Result<Va> SmallHeap::allocate(const BlockTag& tag, const device::BlockInfo& info) {
  const auto pages = static_cast<uint32_t>((tag.bytes() + kNormalPageBytes - 1) / kNormalPageBytes);
  const std::lock_guard lock(mutex_);
  Va start;
  SmallRegion* region = find_room(pages, tag, start);
  if (region == nullptr) {
    PLAT_ASSIGN(added, add_region(pages, info));
    region = added;
    start = *region->allocate(pages, tag);
    place(region);
  }
  if (region == idle_) idle_ = nullptr;
  add_free_bytes(-static_cast<int64_t>(uint64_t{pages} * kNormalPageBytes));
  return start;
}

SmallRegion* SmallHeap::region_at(Va va) const {
  const vmm::PageEntry entry = vmm_.space().entry(va);
  if (entry.tag() != vmm::PageEntry::Mapped || entry.bank() != bank_) return nullptr;
  const vmm::SubBlocks* blocks =
      vmm_.space().mapping(entry.mapping())->sub_blocks.load(std::memory_order_acquire);
  return const_cast<SmallRegion*>(dynamic_cast<const SmallRegion*>(blocks));
}

Result<std::optional<BlockTag>> SmallHeap::free(Va va) {
  const std::lock_guard lock(mutex_);
  SmallRegion* region = region_at(va);
  const auto tag = region == nullptr ? std::nullopt : region->tag_at(va);
  if (!tag) return tag;
  const uint32_t pages = region->free(va);
  if (pages == 0)
    return fail(RuleId::FreeBusy, "devPtr", "a copy is using the block of {} bytes at {:#x}",
                tag->asked_bytes, va.value);
  if (!region->retired) add_free_bytes(static_cast<int64_t>(uint64_t{pages} * kNormalPageBytes));
  place(region);
  if (!region->is_empty()) return tag;
  if (idle_ != nullptr || region->retired || region->page_count() != kPagesPerHuge) {
    drop_region(region);
  } else {
    idle_ = region;
  }
  return tag;
}

void SmallHeap::retire(Va va) {
  const std::lock_guard lock(mutex_);
  SmallRegion* region = region_at(va);
  if (region == nullptr || region->retired) return;
  add_free_bytes(-static_cast<int64_t>(uint64_t{region->free_pages()} * kNormalPageBytes));
  region->retired = true;
  place(region);
}

std::optional<SmallHeap::Found> SmallHeap::find(Va va) {
  const std::lock_guard lock(mutex_);
  const SmallRegion* region = region_at(va);
  if (region == nullptr) return std::nullopt;
  const auto block = region->block_at(va);
  if (!block) return std::nullopt;
  return Found{*block, *region->tag_at(block->start)};
}

std::vector<Va> SmallHeap::blocks() {
  const std::lock_guard lock(mutex_);
  std::vector<Va> starts;
  for (const auto& region : regions_)
    for (uint32_t page = 0; page < region->page_count(); ++page)
      if (const Va at = region->start() + uint64_t{page} * kNormalPageBytes; region->tag_at(at))
        starts.push_back(at);
  return starts;
}

bool SmallHeap::release_idle() {
  const std::lock_guard lock(mutex_);
  bool any = idle_ != nullptr && drop_region(idle_);
  // Those that a copy held on to when they became empty.
  for (const auto& region : regions_)
    if (region->retired && region->is_empty()) any = drop_region(region.get()) || any;
  return any;
}

}  // namespace plat::malloc
