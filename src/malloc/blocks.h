// SPDX-License-Identifier: Apache-2.0
// Blocks of device memory as the page table sees them: one large block to a region, or many small ones.
//
// Both answer without a lock which block is around an address, so that a copy can check its range against
// what is allocated at that moment.
#pragma once

#include <atomic>
#include <bit>
#include <memory>
#include <optional>
#include <vector>

#include "malloc/policy.h"
#include "vmm/address_space.h"

namespace plat::malloc {

// Which calls a block belongs to: it must be freed by its own.
enum class Family : uint8_t { Device, Cached, TaskScheduler, Media, MediaMpi };

struct BlockTag {
  uint64_t asked_bytes = 0;
  uint8_t extra_bytes = 0;  // that the call adds, to round and to pad
  uint16_t module = 0;
  Family family = Family::Device;

  uint64_t bytes() const { return asked_bytes + extra_bytes; }
};

// A tag in one word, so that it is read and written at once. 0 is no block.
class PackedTag {
 public:
  static uint64_t pack(const BlockTag& tag) {
    return tag.asked_bytes | uint64_t{tag.extra_bytes} << kExtraShift | uint64_t{tag.module} << kModuleShift |
           uint64_t(tag.family) << kFamilyShift;
  }
  static BlockTag unpack(uint64_t word) {
    return {word & ((uint64_t{1} << kExtraShift) - 1),
            static_cast<uint8_t>(word >> kExtraShift & ((1u << (kModuleShift - kExtraShift)) - 1)),
            static_cast<uint16_t>(word >> kModuleShift), static_cast<Family>(word >> kFamilyShift)};
  }

 private:
  static constexpr unsigned kExtraShift = 39;   // a block is at most 128 GiB
  static constexpr unsigned kModuleShift = 45;  // and has fewer than 64 bytes more: see policy.cpp
  static constexpr unsigned kFamilyShift = 61;
};

// A block of huge or giant pages: the only one of its region.
class LargeBlock final : public vmm::SubBlocks {
 public:
  std::optional<Block> block_at(Va) const override {
    const uint64_t word = tag_.load(std::memory_order_acquire);
    if (word == 0) return std::nullopt;
    return Block{Va{start_.load(std::memory_order_relaxed)}, PackedTag::unpack(word).bytes(), &tag_, word};
  }

  bool has_tag(const Tag* tag) const override { return tag == &tag_; }
  uint64_t asked_bytes(const Block& block) const override {
    return PackedTag::unpack(block.tag_value).asked_bytes;
  }

  void open(Va start, const BlockTag& tag, Pages pages) {
    pages_.store(pages, std::memory_order_relaxed);
    start_.store(start.value, std::memory_order_relaxed);
    tag_.store(PackedTag::pack(tag), std::memory_order_release);
  }
  // The tag of the block that is now closed to all but the caller; nothing when another was faster.
  std::optional<BlockTag> close() {
    const uint64_t word = tag_.exchange(0, std::memory_order_acq_rel);
    return word == 0 ? std::nullopt : std::optional(PackedTag::unpack(word));
  }
  void reopen(const BlockTag& tag) { tag_.store(PackedTag::pack(tag), std::memory_order_release); }

  Va start() const { return Va{start_.load(std::memory_order_acquire)}; }
  Pages pages() const { return pages_.load(std::memory_order_acquire); }
  std::optional<BlockTag> tag() const {
    const uint64_t word = tag_.load(std::memory_order_acquire);
    return word == 0 ? std::nullopt : std::optional(PackedTag::unpack(word));
  }
  uint32_t index = 0;  // in the table that owns it

 private:
  std::atomic<uint64_t> tag_{0};
  std::atomic<uint64_t> start_{0};
  std::atomic<Pages> pages_{Pages::Huge};
};

// A region in 4 KiB pages that holds many blocks. Changes are made under the mutex of the heap that owns it.
class SmallRegion final : public vmm::SubBlocks {
 public:
  explicit SmallRegion(uint32_t page_count)
      : page_count_(page_count),
        used_(page_count / 64),
        starts_(std::make_unique<std::atomic<uint64_t>[]>(page_count / 64)),
        tags_(std::make_unique<std::atomic<uint64_t>[]>(page_count)),
        users_(std::make_unique<vmm::BlockUsers[]>(page_count)),
        free_pages_(page_count),
        run_limit_(page_count) {}

  std::optional<Block> block_at(Va va) const override;
  bool has_tag(const Tag* tag) const override {
    return tag >= &users_[0].life && tag <= &users_[page_count_ - 1].life;
  }
  uint64_t asked_bytes(const Block& block) const override {
    return PackedTag::unpack(block.tag_value).asked_bytes;
  }

  void set_start(Va start) { start_.store(start.value, std::memory_order_release); }
  Va start() const { return Va{start_.load(std::memory_order_acquire)}; }
  uint32_t page_count() const { return page_count_; }
  uint32_t free_pages() const { return free_pages_; }
  bool is_empty() const { return free_pages_ == page_count_; }
  // No run of free pages is longer.
  uint32_t run_limit() const { return run_limit_; }

  std::optional<Va> allocate(uint32_t pages, const BlockTag& tag);
  // The tag of the block that starts exactly at `va`.
  std::optional<BlockTag> tag_at(Va va) const;
  // The block starts at `va`. Returns how many pages became free: none while a copy uses the block.
  uint32_t free(Va va);

  // Where the heap keeps it.
  bool retired = false;  // shared with another process: nothing more is allocated here
  int bucket = -1;
  SmallRegion* previous = nullptr;
  SmallRegion* next = nullptr;

 private:
  uint64_t page_of(Va va) const { return (va - start()) / kNormalPageBytes; }
  uint32_t free_run_around(uint32_t first, uint32_t end) const;

  const uint32_t page_count_;
  std::atomic<uint64_t> start_{0};
  std::vector<uint64_t> used_;                       // a bit for each page
  std::unique_ptr<std::atomic<uint64_t>[]> starts_;  // a bit where a block starts
  std::unique_ptr<std::atomic<uint64_t>[]> tags_;    // of the block that starts at the page
  std::unique_ptr<vmm::BlockUsers[]> users_;         // and of its users
  uint32_t free_pages_;
  uint32_t run_limit_;
  uint32_t hint_ = 0;  // no page below it is free
};

}  // namespace plat::malloc
