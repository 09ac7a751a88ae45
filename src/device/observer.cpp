// SPDX-License-Identifier: Apache-2.0
#include "device/observer.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include "core/page_table.h"
#include "device/ledger_verify.h"
#include "device/liveness.h"

namespace plat::device {

namespace {

constexpr int kCopies = 100;
constexpr uint32_t kLookPollMicroseconds = 200;

// The parts of a control file that an observer reads.
struct Copy {
  LedgerHeader header{};
  uint64_t changes = 0;  // begun before the header was read
  std::vector<ProcessSlot> slots = std::vector<ProcessSlot>(kMaxProcesses);
  std::vector<HandleRecord> handles;
  std::vector<PageRecord> pages;
  std::vector<uint64_t> page_bits;
  std::vector<uint64_t> handle_bits;
};

// Reads what processes may be changing, after all that was read before: tests/model/ledger_test.cpp.
bool read_next(int fd, void* target, size_t size_bytes, uint64_t offset) {
#if !defined(__SANITIZE_THREAD__)  // which knows no fences, and no other processes
  std::atomic_thread_fence(std::memory_order_acquire);
#endif
  return os::read_at(fd, target, size_bytes, offset);
}

template <class T>
bool read_table(int fd, std::vector<T>& table, size_t count, uint64_t offset) {
  table = std::vector<T>(count);
  return read_next(fd, table.data(), count * sizeof(T), offset);
}

bool is_ours(const LedgerHeader& h) {
  return h.magic == kLedgerMagic && h.layout_version == kLayoutVersion && h.ready == 1;
}

// As long as the file is, so are the tables: none is made for what a damaged header says.
bool is_understood(int fd, const LedgerHeader& h) {
  return is_ours(h) && is_consistent(h) &&
         os::identify(fd).value_or(os::FileIdentity{}).size_bytes >= h.total_bytes;
}

bool read_all(int fd, Copy& copy) {
  // Counted before the header is read: a change sets `transaction` first and the counter then, so that a
  // change that begins in between shows in one of the two.
  LedgerHeader before{};
  if (!os::read_at(fd, &before, sizeof before, 0)) return false;
  copy.changes = before.changes.load(std::memory_order_relaxed);
  if (!read_next(fd, &copy.header, sizeof copy.header, 0) || !is_understood(fd, copy.header)) return false;
  const LedgerHeader& h = copy.header;
  const LedgerOffsets at = ledger_offsets(h.page_count, h.handle_count, h.whitelist_count);
  const size_t words = (h.page_count + 63) / 64;
  return read_table(fd, copy.slots, kMaxProcesses, at.slots) &&
         read_table(fd, copy.handles, h.handle_count, at.handles) &&
         read_table(fd, copy.pages, h.page_count, at.pages) &&
         read_table(fd, copy.page_bits, words, at.page_bits) &&
         read_table(fd, copy.handle_bits, words, at.handle_bits);
}

// The process that is inside a change, by its number; nullptr if there is none, or it has no number yet.
const ProcessSlot* who_changes(int fd, const Copy& copy, uint64_t my_namespace) {
  const uint64_t incarnation = copy.header.transaction.load(std::memory_order_relaxed);
  for (uint32_t slot = 0; slot < kMaxProcesses; ++slot)
    if (copy.slots[slot].state.load(std::memory_order_relaxed) == SlotState::Live &&
        copy.slots[slot].incarnation == incarnation &&
        slot_is_alive(fd, SlotId(slot), copy.slots[slot], my_namespace))
      return &copy.slots[slot];
  return nullptr;
}

// Whether nothing changed while the copy was made: no change began, and none was under way, unless it is one
// whose process died inside it.
bool is_of_one_moment(int fd, const Copy& copy, uint64_t my_namespace, DeviceView& view) {
  LedgerHeader now{};
  if (!read_next(fd, &now, sizeof now, 0)) return false;
  const uint64_t changing = copy.header.transaction.load(std::memory_order_relaxed);
  const ProcessSlot* who = changing != 0 ? who_changes(fd, copy, my_namespace) : nullptr;
  view.changing_pid = who != nullptr ? who->pid : 0;
  view.died_inside_change = changing != 0 && changing != UINT64_MAX && who == nullptr;
  return now.changes.load(std::memory_order_relaxed) == copy.changes &&
         now.transaction.load(std::memory_order_relaxed) == changing &&
         (changing == 0 || view.died_inside_change);
}

// Charges every block to the living that hold it; what only the dead hold counts as free.
void fill_in(DeviceView& view, const Copy& copy, const std::vector<bool>& alive) {
  uint64_t living[kHolderWords] = {};
  std::vector<Holder> by_slot(kMaxProcesses);
  for (uint32_t slot = 0; slot < kMaxProcesses; ++slot)
    if (alive[slot]) living[slot / 64] |= uint64_t{1} << (slot % 64);
  uint64_t used_bytes = 0;
  for (const HandleRecord& record : copy.handles) {
    const HandleState state = record.state.load(std::memory_order_relaxed);
    if (state == HandleState::Free) continue;
    const uint64_t bytes = uint64_t{record.page_count} * core::kPageBytes;
    unsigned holders = 0;
    for (uint32_t word = 0; word < kHolderWords; ++word)
      holders += static_cast<unsigned>(std::popcount(record.holders[word] & living[word]));
    // What is being cleared is nobody's any more: who needs it waits for it.
    (holders > 0 ? used_bytes : view.dead_bytes) += bytes;
    for (uint32_t slot = 0; slot < kMaxProcesses; ++slot) {
      if (!alive[slot] || (record.holders[slot / 64] >> (slot % 64) & 1) == 0) continue;
      by_slot[slot].bytes += bytes;
      by_slot[slot].blocks += 1;
      if (holders > 1) by_slot[slot].shared_bytes += bytes;
    }
  }
  view.free_bytes = view.capacity_bytes - std::min(view.capacity_bytes, used_bytes);
  for (uint32_t slot = 0; slot < kMaxProcesses; ++slot) {
    if (!alive[slot]) continue;
    const ProcessSlot& record = copy.slots[slot];
    view.free_bytes += record.small_free_bytes.load(std::memory_order_relaxed);
    by_slot[slot].pid = record.pid;
    by_slot[slot].name = std::string(record.name, strnlen(record.name, sizeof record.name));
    view.holders.push_back(by_slot[slot]);
  }
  std::stable_sort(view.holders.begin(), view.holders.end(),
                   [](const Holder& a, const Holder& b) { return a.bytes > b.bytes; });
}

std::string product_of(const LedgerHeader& h) {
  return std::string(h.product, strnlen(h.product, sizeof h.product));
}

}  // namespace

std::optional<RunningDevice> find_running(const std::string& control_path) {
  const os::Fd fd = os::open_to_read(control_path);
  LedgerHeader h{};
  if (!fd || !os::read_at(fd.get(), &h, sizeof h, 0) || !is_understood(fd.get(), h) ||
      os::boot_id() != h.boot_id || !anybody_lives(fd.get()))
    return std::nullopt;
  return RunningDevice{product_of(h), h.capacity_bytes, h.pid_namespace, h.server};
}

Observation observe(const std::string& control_path) {
  Observation seen;
  const os::Fd fd = os::open_to_read(control_path);
  if (!fd) {
    if (errno == ENOENT || errno == ENOTDIR) return seen;
    return {ObserveState::Unknown, {}, std::strerror(errno)};
  }
  Copy copy;
  DeviceView& view = seen.view;
  const uint64_t my_namespace = os::pid_namespace();
  bool is_understood = read_all(fd.get(), copy);
  for (int copies = 1; is_understood; ++copies) {
    view.is_of_one_moment = is_of_one_moment(fd.get(), copy, my_namespace, view);
    if (view.is_of_one_moment || copies == kCopies) break;
    os::sleep_microseconds(kLookPollMicroseconds);
    is_understood = read_all(fd.get(), copy);
  }
  if (!is_understood) {
    // Left over from another version or an earlier boot, or just being made; of interest only to who lives.
    if (!anybody_lives(fd.get())) return seen;
    const bool is_of_another_version =
        copy.header.magic == kLedgerMagic && copy.header.layout_version != kLayoutVersion;
    return {ObserveState::Unknown,
            {},
            is_of_another_version ? "it is used by another version of the library"
                                  : "its control file is damaged"};
  }
  const bool this_boot = os::boot_id() == copy.header.boot_id;
  std::vector<bool> alive(kMaxProcesses);
  for (uint32_t slot = 0; slot < kMaxProcesses; ++slot)
    alive[slot] = this_boot && copy.slots[slot].state.load(std::memory_order_relaxed) == SlotState::Live &&
                  slot_is_alive(fd.get(), SlotId(slot), copy.slots[slot], my_namespace);
  if (std::none_of(alive.begin(), alive.end(), [](bool lives) { return lives; })) return seen;

  seen.state = ObserveState::Live;
  view.product = product_of(copy.header);
  view.capacity_bytes = copy.header.capacity_bytes;
  view.died_inside_change &= view.is_of_one_moment;
  fill_in(view, copy, alive);
  // In a copy of two moments, or after a death inside a change, differences are to be expected and mean
  // nothing.
  if (view.is_of_one_moment && !view.died_inside_change)
    view.difference =
        verify_tables({copy.header, copy.handles, copy.pages, copy.page_bits, copy.handle_bits});
  return seen;
}

}  // namespace plat::device
