// SPDX-License-Identifier: Apache-2.0
// A bank of memory: the ledger that says who holds its pages, and the pages themselves.
//
// The whole memory file is mapped once, for ever, at an address that no client knows; only this library
// touches it. Memory is taken from the system when a page is first written, after a look at how much there
// is, so that a write never kills the process.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>

#include "core/page_table.h"
#include "device/config.h"
#include "device/ledger.h"

namespace plat::device {

class Bank {
 public:
  static Result<std::unique_ptr<Bank>> open(const LedgerOptions& options, const Config& config);
  Bank(const Bank&) = delete;
  Bank& operator=(const Bank&) = delete;
  ~Bank();

  Ledger& ledger() { return *ledger_; }
  BankId id() const { return id_; }

  Result<BlockId> allocate(uint64_t page_count, const BlockInfo& info);
  void release(BlockId block) { ledger_->release(block); }

  // The page's memory. Reading a page that was never written takes memory for it; see is_committed.
  std::byte* page_memory(PageId page) const { return alias_ + uint64_t{page.value} * core::kPageBytes; }
  bool is_committed(PageId page) const {
    return ledger_->page(page).committed.load(std::memory_order_acquire) == PageState::Taken;
  }
  // The host is given the page: whoever clears it later must know that something may be there. Taken stays
  // what it is, because copies take any other page for one that was never written.
  void expose(PageId page) {
    auto& state = ledger_->page(page).committed;
    PageState known = state.load(std::memory_order_relaxed);
    while (known != PageState::Taken && known != PageState::Exposed &&
           !state.compare_exchange_weak(known, PageState::Exposed, std::memory_order_relaxed)) {
    }
  }
  bool is_exposed(PageId page) const {
    return ledger_->page(page).committed.load(std::memory_order_relaxed) == PageState::Exposed;
  }
  // Makes a write to the page safe. Fails when the machine has no memory left.
  Result<> commit(PageId page) {
    if (is_committed(page)) [[likely]]
      return {};
    return commit_run(page, 1);
  }
  // The same for all pages of a block, with fewer looks at what the machine has left.
  Result<> commit(BlockId block);

  void abandon_in_child() { ledger_->abandon_in_child(); }

 private:
  Bank() = default;
  Result<> commit_run(PageId first, uint32_t count);
  void clear(PageId first_page, uint32_t count);

  std::unique_ptr<Ledger> ledger_;
  std::byte* alias_ = nullptr;
  BankId id_;
  bool commit_eagerly_ = false;
  // What must be left for everybody else: several processes may look at the same moment.
  uint64_t keep_back_bytes_ = 0;
};

// A block that goes back unless it is kept: whoever records it may fail, or throw.
class HeldBlock {
 public:
  HeldBlock(Bank& bank, BlockId block) : bank_(&bank), block_(block) {}
  HeldBlock(const HeldBlock&) = delete;
  HeldBlock& operator=(const HeldBlock&) = delete;
  ~HeldBlock() {
    if (bank_ != nullptr) bank_->release(block_);
  }
  void keep() { bank_ = nullptr; }

 private:
  Bank* bank_;
  const BlockId block_;
};

}  // namespace plat::device
