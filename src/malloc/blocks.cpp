// SPDX-License-Identifier: Apache-2.0
#include "malloc/blocks.h"

#include <algorithm>

#include "core/bitmap.h"
#include "vmm/shortcuts.h"

namespace plat::malloc {

namespace {

// Sets or clears the bits [first, end).
void mark(std::vector<uint64_t>& words, uint32_t first, uint32_t end, bool used) {
  for (uint32_t at = first; at < end;) {
    const uint32_t bit = at % 64;
    const uint32_t count = std::min(64 - bit, end - at);
    const uint64_t mask = (count == 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1) << bit;
    used ? words[at / 64] |= mask : words[at / 64] &= ~mask;
    at += count;
  }
}

// Turns bits that only one thread at a time changes.
void change(std::atomic<uint64_t>& word, uint64_t bits) {
  word.store(word.load(std::memory_order_relaxed) ^ bits, std::memory_order_release);
}

uint32_t pages_of(const BlockTag& tag) {
  return static_cast<uint32_t>((tag.bytes() + kNormalPageBytes - 1) / kNormalPageBytes);
}

}  // namespace

std::optional<vmm::SubBlocks::Block> SmallRegion::block_at(Va va) const {
  const Va base = start();
  const uint64_t page = (va - base) / kNormalPageBytes;
  // A region that has only just been mapped does not know its place yet, and has no blocks.
  if (page >= page_count_) return std::nullopt;
  // The last start at or before the page, if its block reaches this far.
  for (uint64_t word = page / 64 + 1; word-- > 0;) {
    uint64_t bits = starts_[word].load(std::memory_order_acquire);
    if (word == page / 64 && page % 64 != 63) bits &= (uint64_t{2} << page % 64) - 1;
    if (bits == 0) continue;
    const uint64_t first = word * 64 + 63 - static_cast<uint64_t>(std::countl_zero(bits));
    const uint64_t tag = tags_[first].load(std::memory_order_acquire);
    const Block block{base + first * kNormalPageBytes, PackedTag::unpack(tag).bytes(), &tags_[first], tag,
                      &users_[first]};
    if (va - block.start >= block.size_bytes) return std::nullopt;
    return block;
  }
  return std::nullopt;
}

std::optional<Va> SmallRegion::allocate(uint32_t pages, const BlockTag& tag) {
  const auto first = pages == 1 ? core::find_clear(used_, page_count_, hint_)
                                : core::find_clear_run(used_, page_count_, pages, hint_);
  if (!first) {
    run_limit_ = pages - 1;
    return std::nullopt;
  }
  mark(used_, *first, *first + pages, true);
  if (pages == 1) hint_ = *first + 1;
  free_pages_ -= pages;
  if (free_pages_ < run_limit_) run_limit_ = free_pages_;
  tags_[*first].store(PackedTag::pack(tag), std::memory_order_release);
  change(starts_[*first / 64], uint64_t{1} << *first % 64);
  return start() + uint64_t{*first} * kNormalPageBytes;
}

std::optional<BlockTag> SmallRegion::tag_at(Va va) const {
  if ((va - start()) % kNormalPageBytes != 0) return std::nullopt;
  const uint64_t word = tags_[page_of(va)].load(std::memory_order_acquire);
  return word == 0 ? std::nullopt : std::optional(PackedTag::unpack(word));
}

uint32_t SmallRegion::free(Va va) {
  const auto first = static_cast<uint32_t>(page_of(va));
  // Who begins to use it from here on sees that it is gone, see vmm::pin; who has begun, is seen.
  const uint64_t tag = tags_[first].exchange(0, std::memory_order_seq_cst);
  if (users_[first].counted.load(std::memory_order_seq_cst) != 0 ||
      vmm::Shortcuts::forget(users_[first]) != 0) {
    tags_[first].store(tag, std::memory_order_release);
    return 0;
  }
  const uint32_t pages = pages_of(PackedTag::unpack(tag));
  change(starts_[first / 64], uint64_t{1} << first % 64);
  mark(used_, first, first + pages, false);
  hint_ = std::min(hint_, first);
  free_pages_ += pages;
  run_limit_ = std::max(run_limit_, free_run_around(first, first + pages));
  return pages;
}

// How long the run of free pages is that [first, end) is part of.
uint32_t SmallRegion::free_run_around(uint32_t first, uint32_t end) const {
  const auto is_used = [&](uint32_t page) { return (used_[page / 64] >> page % 64 & 1) != 0; };
  while (first > 0 && !is_used(first - 1)) {
    if (first % 64 == 0 && used_[first / 64 - 1] == 0)
      first -= 64;
    else
      first -= 1;
  }
  while (end < page_count_ && !is_used(end)) {
    if (end % 64 == 0 && used_[end / 64] == 0)
      end += 64;
    else
      end += 1;
  }
  return end - first;
}

}  // namespace plat::malloc
