// SPDX-License-Identifier: Apache-2.0
#include "device/bank.h"

#include <cerrno>
#include <cstring>

#include "base/text.h"
#include "base/units.h"
#include "device/crash.h"
#include "os/memory.h"
#include "rules/rules.h"

namespace plat::device {

namespace {
// Taken from the system at once: 64 MiB, so that who wants a page of the same bank waits for some
// milliseconds only, and the look at what is left is not much older than what is taken.
constexpr uint32_t kMaxRun = 32;
}  // namespace

Result<std::unique_ptr<Bank>> Bank::open(const LedgerOptions& options, const Config& config) {
  std::unique_ptr<Bank> bank(new Bank);
  PLAT_ASSIGN(ledger, Ledger::attach(options));
  bank->ledger_ = std::move(ledger);
  bank->id_ = BankId(options.device_number);
  bank->commit_eagerly_ = config.commit_eagerly;
  bank->keep_back_bytes_ = config.keep_back_bytes;
  const uint64_t capacity = bank->ledger_->capacity_bytes();
  bank->alias_ = os::map_shared(bank->ledger_->data_fd(), 0, capacity);
  if (bank->alias_ == nullptr)
    return fail(RuleId::DeviceLimits, "deviceId",
                "device {}: no {} of addresses are to be had for its memory ({}); ulimit -v is {}",
                options.device_number, format_bytes(capacity), std::strerror(errno), os::address_limit());
  bank->ledger_->begin([bank = bank.get()](PageId first, uint32_t count) { bank->clear(first, count); });
  return bank;
}

Bank::~Bank() {
  if (alias_ != nullptr) os::unmap(alias_, ledger_->capacity_bytes());
}

// Gives the pages back to the system; in any case the next owner finds nothing in them.
void Bank::clear(PageId first_page, uint32_t count) {
  const uint64_t size_bytes = uint64_t{count} * core::kPageBytes;
  if (os::discard(page_memory(first_page), size_bytes) == 0) return;
  // A program that locks its memory (mlockall) has locked this mapping too; the file itself can still be
  // asked.
  if (ledger_->data_fd_is_ours() &&
      os::punch_hole(ledger_->data_fd(), uint64_t{first_page.value} * core::kPageBytes, size_bytes) == 0)
    return;
  std::memset(page_memory(first_page), 0, size_bytes);
}

Result<BlockId> Bank::allocate(uint64_t page_count, const BlockInfo& info) {
  PLAT_ASSIGN(block, ledger_->allocate(page_count, info));
  if (!commit_eagerly_) return block;
  const auto committed = commit(block);
  if (committed) return block;
  ledger_->release(block);
  return forward(committed.error());
}

Result<> Bank::commit(BlockId block) {
  PageId first;
  uint32_t count = 0;
  Result<> committed;
  const auto take = [&] {
    if (count > 0 && committed) committed = commit_run(first, count);
    count = 0;
  };
  ledger_->for_each_page(block, [&](PageId page) {
    if (is_committed(page)) return;
    if (count == kMaxRun || first.value + count != page.value) take();
    if (count++ == 0) first = page;
  });
  take();
  return committed;
}

// Of pages that lie one behind the other.
Result<> Bank::commit_run(PageId first, uint32_t count) {
  const uint64_t size_bytes = uint64_t{count} * core::kPageBytes;
  const os::Headroom room = os::headroom();
  if (room.available_bytes < size_bytes || room.available_bytes - size_bytes < keep_back_bytes_)
    return fail(RuleId::OutOfHostMemory, "size", "device {}: {} has {} left, {} are wanted and {} kept back",
                id_.value, room.limited_by, format_bytes(room.available_bytes), format_bytes(size_bytes),
                format_bytes(keep_back_bytes_));
  const auto state_of = [&](uint32_t at) -> auto& {
    return ledger_->page(PageId(first.value + at)).committed;
  };
  // Marked before it is taken: should we die in between, whoever clears up gives it back.
  for (uint32_t at = 0; at < count; ++at) {
    auto nothing = PageState::Nothing;
    state_of(at).compare_exchange_strong(nothing, PageState::Taking, std::memory_order_relaxed);
  }
  crash_point("page-taking");
  // If the program closed our file the number may be another file by now; then the write itself takes the
  // memory.
  const int error = ledger_->data_fd_is_ours()
                        ? os::commit(ledger_->data_fd(), uint64_t{first.value} * core::kPageBytes, size_bytes)
                        : 0;
  if (error == 0 || error == EOPNOTSUPP) {
    crash_point("page-taken");
    for (uint32_t at = 0; at < count; ++at) state_of(at).store(PageState::Taken, std::memory_order_release);
    return {};
  }
  // Left as they are: another thread or process may be taking one of them at this moment.
  return fail(RuleId::OutOfHostMemory, "size", "device {}: the system refused {}: {}", id_.value,
              format_bytes(size_bytes), std::strerror(error));
}

}  // namespace plat::device
