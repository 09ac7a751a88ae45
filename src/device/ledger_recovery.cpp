// SPDX-License-Identifier: Apache-2.0
// The device lock, and what follows the death of a process.
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "device/crash.h"
#include "device/ledger.h"
#include "device/ledger_verify.h"
#include "device/liveness.h"
#include "device/report.h"
#include "os/memory.h"

namespace plat::device {

namespace {
constexpr int kYields = 20;
constexpr int kReopenAttempts = 1000;
constexpr uint32_t kShortestSleepUs = 20;
constexpr uint32_t kLongestSleepUs = 1000;
}  // namespace

void Ledger::take_device_lock() {
  if (control_path_.empty()) return;  // private: the mutex is enough
  const uint64_t started = os::monotonic_nanoseconds();
  bool complained = false;
  uint32_t sleep_us = kShortestSleepUs;
  for (int attempt = 0;; ++attempt) {
    // The program may have closed files that were not its own, and the number may be a file of its own by
    // now: a lock of that one would keep nobody out.
    const bool is_ours = control_fd_is_ours();
    const int error = is_ours ? os::try_lock_byte(control_.get(), kDeviceLockByte) : EBADF;
    if (error == 0) return;
    if (error == EBADF) {
      pass_locks_on();
      continue;
    }
    if (attempt < kYields) {
      os::yield();
      continue;
    }
    os::sleep_microseconds(sleep_us);
    sleep_us = std::min(2 * sleep_us, kLongestSleepUs);
    if (!complained && os::monotonic_nanoseconds() - started > kComplainAfterNs) {
      complained = true;
      // Without the lock, and only for a message.
      const uint64_t holder = header_->transaction.load(std::memory_order_relaxed);
      int32_t pid = 0;
      for (const ProcessSlot& slot : std::span(slots_, kMaxProcesses))
        if (slot.incarnation == holder) pid = slot.pid;
      report::notice(
          fmt::format("device {}: pid {} has held the device lock for a second (is it stopped?); waiting",
                      header_->device_number, pid));
    }
  }
}

bool Ledger::control_fd_is_ours() const {
  const auto identity = os::identify(control_.get());
  return identity && *identity == control_identity_;
}

void Ledger::reopen_control() {
  control_.release();  // it is closed already, and the number may be somebody else's by now
  for (int attempt = 0; attempt < kReopenAttempts; ++attempt) {
    control_ = os::open_private_file(control_path_, false);
    const auto identity = control_ ? os::identify(control_.get()) : std::nullopt;
    if (identity && *identity == control_identity_) return;
    if (identity) break;
    control_.release();  // the program is closing files at this moment
    os::yield();
  }
  end_process("is gone");
}

// The program closed our file. A mapping keeps a file description alive, and with it the locks: the old one
// holds them, perhaps that of the device too, until the mapping is of the new one, which holds them from then
// on whatever is closed. The spare byte says in between that we live.
void Ledger::pass_locks_on() {
  for (int attempt = 0; attempt < kReopenAttempts; ++attempt) {
    reopen_control();
    if (os::try_lock_byte(control_.get(), kSlotSpareByte + slot_.value) == EBADF) continue;
    if (os::map_over(base_, mapped_bytes_, control_.get()) != 0) continue;
    if (os::try_lock_byte(control_.get(), kSlotLockByte + slot_.value) == 0)
      os::unlock_byte(control_.get(), kSlotSpareByte + slot_.value);
    return;
  }
  end_process("cannot be mapped again");
}

void Ledger::end_process(const char* why) const {
  report::notice(fmt::format("device {}: the control file {} {}; ending the process", header_->device_number,
                             control_path_, why));
  std::abort();
}

void Ledger::acquire() {
  mutex_.lock();
  take_device_lock();
  if (header_->transaction.load(std::memory_order_acquire) != 0) [[unlikely]] {
    header_->changes.fetch_add(1);  // the books of the dead are changed too
    rebuild_locked();
  }
  // A process that is still joining has no number yet.
  header_->transaction.store(incarnation_ != 0 ? incarnation_ : UINT64_MAX, std::memory_order_relaxed);
  header_->changes.store(header_->changes.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  // Whoever looks on without the lock and sees the count sees who is inside, and who sees a part of the
  // change sees both. No order of the stores themselves says that of what is stored after them:
  // tests/model/ledger_test.cpp.
#if !defined(__SANITIZE_THREAD__)  // which knows no fences, and no other processes
  std::atomic_thread_fence(std::memory_order_release);
#endif
}

void Ledger::give_up() {
  header_->transaction.store(0, std::memory_order_release);
  crash_point("unlocking");
  if (!control_path_.empty() && os::unlock_byte(control_.get(), kDeviceLockByte) != 0) pass_locks_on();
  mutex_.unlock();
}

// A process died between two writes. Nothing that was derived can be trusted; all of it follows from the
// handle records.
void Ledger::rebuild_locked() {
  LedgerHeader& h = *header_;
  std::fill(page_bits().begin(), page_bits().end(), 0);
  std::fill(handle_bits().begin(), handle_bits().end(), 0);
  std::vector<bool> part_used(h.whitelist_count);
  h.free_pages = h.page_count;
  h.page_hint = 0;
  h.handle_hint = 0;
  h.scrub_count = 0;
  const auto mark_used = [&](Link<ListId> head) {
    for (Link<ListId> at = head; at; at = part(*at).next) part_used[(*at).value] = true;
  };
  for (const BlockId block : blocks()) {
    HandleRecord& record = this->record(block);
    const HandleState state = record.state.load(std::memory_order_acquire);
    if (state == HandleState::Free) continue;
    if (state == HandleState::Allocated && std::all_of(std::begin(record.holders), std::end(record.holders),
                                                       [](uint64_t word) { return word == 0; })) {
      // Its last holder died while letting go. Nobody is clearing it; the next reap will.
      record.scrubber = 0;
      record.state.store(HandleState::Scrub, std::memory_order_release);
    }
    if (record.state.load(std::memory_order_relaxed) == HandleState::Scrub) h.scrub_count += 1;
    core::set_bit(handle_bits(), block.value);
    for_each_page(block, [&](PageId page) {
      core::set_bit(page_bits(), page.value);
      h.free_pages -= 1;
    });
    mark_used(record.whitelist);
  }
  for (const KeyId key : keys())
    if (ipc(key).secret.load(std::memory_order_acquire) != 0) mark_used(ipc(key).whitelist);
  h.free_whitelist = {};
  for (uint32_t number = h.whitelist_count; number-- > 0;) {
    const ListId id(number);
    if (part_used[number]) continue;
    part(id).next = h.free_whitelist;
    h.free_whitelist = Link(id);
  }
  crash_point("rebuilt");
}

bool Ledger::slot_is_alive(SlotId id) const {
  return id == slot_ || device::slot_is_alive(control_.get(), id, slot(id), me_.pid_namespace);
}

bool Ledger::incarnation_is_alive(uint64_t incarnation) const {
  for (const SlotId id : slots())
    if (slot(id).state.load(std::memory_order_acquire) == SlotState::Live &&
        slot(id).incarnation == incarnation)
      return slot_is_alive(id);
  return false;
}

void Ledger::reap_locked(std::vector<BlockId>& to_scrub) {
  uint64_t dead[kHolderWords] = {};
  std::vector<uint64_t> dead_incarnations;
  for (const SlotId id : slots()) {
    if (slot(id).state.load(std::memory_order_acquire) != SlotState::Live || slot_is_alive(id)) continue;
    dead[id.value / 64] |= uint64_t{1} << (id.value % 64);
    dead_incarnations.push_back(slot(id).incarnation);
  }
  const bool anybody_dead = !dead_incarnations.empty();
  // Besides the blocks of the dead there may be some that a process died clearing; those are counted.
  if (!anybody_dead && header_->scrub_count == 0) return;
  for (uint32_t word = 0; word < handle_bits().size(); ++word) {
    for (uint64_t bits = handle_bits()[word]; bits != 0; bits &= bits - 1) {
      const BlockId block(word * 64 + static_cast<uint32_t>(std::countr_zero(bits)));
      HandleRecord& record = handles_[block.value];
      const HandleState state = record.state.load(std::memory_order_acquire);
      if (state == HandleState::Allocated && anybody_dead) {
        uint64_t left = 0;
        for (uint32_t i = 0; i < kHolderWords; ++i) left |= record.holders[i] &= ~dead[i];
        if (left != 0) continue;
      } else if (state != HandleState::Scrub || incarnation_is_alive(record.scrubber)) {
        continue;
      }
      begin_scrub_locked(block, incarnation_);
      crash_point("reap-block");
      to_scrub.push_back(block);
    }
  }
  if (anybody_dead) drop_keys_of_locked(dead_incarnations);
  for (const SlotId id : slots())
    if (dead[id.value / 64] >> (id.value % 64) & 1)
      slot(id).state.store(SlotState::Free, std::memory_order_release);
  crash_point("reaped");
}

void Ledger::drop_keys_of_locked(const std::vector<uint64_t>& exporters) {
  for (const KeyId key : keys())
    if (ipc(key).secret.load(std::memory_order_acquire) != 0 &&
        std::find(exporters.begin(), exporters.end(), ipc(key).exporter) != exporters.end())
      drop_ipc_locked(key);
}

void Ledger::look_after_file() {
  if (control_path_.empty()) return;
  const auto identity = os::identify(control_.get());
  if (!identity || !(*identity == control_identity_) || identity->has_name || told_of_removal_.exchange(true))
    return;
  report::warning(fmt::format(
      "device {}: the control file {} was removed while this process uses it. Processes that start "
      "from now on are on another machine and share no memory with this one; 'plat clean' removes "
      "only what nobody uses",
      header_->device_number, control_path_));
}

void Ledger::reap() {
  if (control_path_.empty()) return;
  look_after_file();
  std::vector<BlockId> to_scrub;
  {
    const Lock lock(*this);
    reap_locked(to_scrub);
  }
  scrub(to_scrub);
}

std::string Ledger::verify() {
  const Lock lock(*this);
  const LedgerHeader& h = *header_;
  return verify_tables({h,
                        {handles_, h.handle_count},
                        {pages_, h.page_count},
                        page_bits(),
                        handle_bits(),
                        {whitelist_, h.whitelist_count},
                        {ipc_, kIpcKeys}});
}

}  // namespace plat::device
