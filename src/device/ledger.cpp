// SPDX-License-Identifier: Apache-2.0
// Allocation, release and accounting. Joining is in ledger_attach.cpp, death in ledger_recovery.cpp.
#include "device/ledger.h"

#include <algorithm>
#include <cassert>
#include <map>
#include <utility>

#include "base/text.h"
#include "core/page_table.h"
#include "device/config.h"
#include "device/crash.h"
#include "device/fault.h"
#include "device/report.h"
#include "rules/rules.h"

namespace plat::device {

namespace {

constexpr uint64_t kScrubPatienceNs = 60'000'000'000;
constexpr uint32_t kScrubPollMicroseconds = 200;

uint64_t& holder_word(HandleRecord& record, SlotId slot) { return record.holders[slot.value / 64]; }
uint64_t holder_bit(SlotId slot) { return uint64_t{1} << (slot.value % 64); }

bool has_holder(const HandleRecord& record) {
  return std::any_of(std::begin(record.holders), std::end(record.holders),
                     [](uint64_t word) { return word != 0; });
}

unsigned holder_count(const HandleRecord& record) {
  unsigned count = 0;
  for (uint64_t word : record.holders) count += static_cast<unsigned>(std::popcount(word));
  return count;
}

// What can be hoped for. Who is stopped is given a moment: a debugger stops a process often and shortly.
uint64_t pages_to_come(const auto& clearing, bool hope_for_the_stopped) {
  uint64_t pages = 0;
  for (const auto& process : clearing)
    if (hope_for_the_stopped || !process.is_stopped) pages += process.pages;
  return pages;
}

}  // namespace

// Chains free pages, contiguous if there is such a run, and marks them used. The first; none if they lack.
Link<PageId> Ledger::take_pages_locked(uint64_t wanted) {
  LedgerHeader& h = *header_;
  if (wanted == 0 || wanted > h.free_pages) return {};
  const auto count = static_cast<uint32_t>(wanted);
  Link<PageId> head;
  const auto chain = [&](PageId id, Link<PageId> next) {
    core::set_bit(page_bits(), id.value);
    page(id).next = next;
  };
  if (const auto run = core::find_clear_run(page_bits(), h.page_count, count, h.page_hint)) {
    for (uint32_t i = count; i-- > 0; head = Link(PageId(*run + i))) chain(PageId(*run + i), head);
    h.page_hint = *run + count;
    h.free_pages -= count;
    return head;
  }
  // No such run: any free pages will do, in ascending order so that neighbours still merge.
  Link<PageId>* end = &head;
  h.page_hint = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const PageId id(*core::find_clear(page_bits(), h.page_count, h.page_hint));
    chain(id, {});
    *end = Link(id);
    end = &page(id).next;
    h.page_hint = id.value + 1;
  }
  h.free_pages -= count;
  return head;
}

// The fault plan may have taken part of the device away.
Result<> Ledger::allow_by_plan_locked(uint64_t page_count) const {
  if (!fault::armed() || header_->device_number >= kMaxDevices) [[likely]]
    return {};
  return fault::allow_allocation(header_->device_number, page_count * core::kPageBytes,
                                 uint64_t{header_->page_count - header_->free_pages} * core::kPageBytes);
}

Result<BlockId> Ledger::allocate(uint64_t page_count, const BlockInfo& info) {
  uint64_t waiting_since = 0;
  bool complained = false;
  for (bool reaped = false;; reaped = true) {
    bool comes_free = false;
    std::string waiting_for;
    {
      const Lock lock(*this);
      LedgerHeader& h = *header_;
      const auto handle = core::find_clear(handle_bits(), h.handle_count, h.handle_hint);
      const Result<> planned = page_count <= h.free_pages ? allow_by_plan_locked(page_count) : Result<>{};
      const auto first_page = handle && planned ? take_pages_locked(page_count) : Link<PageId>();
      if (first_page) {
        crash_point("allocate-pages");
        HandleRecord& record = handles_[*handle];
        record.generation += 1;
        record.first_page = first_page;
        record.page_count = static_cast<uint32_t>(page_count);
        std::fill(std::begin(record.holders), std::end(record.holders), 0);
        holder_word(record, slot_) = holder_bit(slot_);
        record.scrubber = 0;
        record.share_secret = 0;
        record.fabric_key = 0;
        record.exporter = 0;
        record.share_flags = 0;
        record.whitelist = {};
        record.attribute = info.attribute;
        record.purpose = info.purpose;
        record.location_type = info.location_type;
        record.location_id = info.location_id;
        core::set_bit(handle_bits(), *handle);
        h.handle_hint = *handle + 1;
        crash_point("allocate-record");
        record.state.store(HandleState::Allocated, std::memory_order_release);
        crash_point("allocate-done");
        return BlockId(*handle);
      }
      // Free memory that others are still clearing is waited for, unless they take too long or are stopped.
      const uint64_t waited_ns = waiting_since == 0 ? 0 : os::monotonic_nanoseconds() - waiting_since;
      if (page_count > h.free_pages && h.scrub_count > 0 && waited_ns < kScrubPatienceNs) {
        const auto clearing = clearing_locked();
        comes_free = page_count <= h.free_pages + pages_to_come(clearing, waited_ns < kComplainAfterNs);
        if (comes_free && waited_ns >= kComplainAfterNs && !std::exchange(complained, true))
          waiting_for = describe(clearing);
      }
      if (reaped && !comes_free)
        return tl::unexpected(planned ? out_of_memory_locked(page_count, info.asked_bytes) : planned.error());
    }
    if (!waiting_for.empty())
      report::notice(fmt::format("device {}: waiting for memory that is being cleared: {}",
                                 header_->device_number, waiting_for));
    if (reaped) os::sleep_microseconds(kScrubPollMicroseconds);
    if (waiting_since == 0) waiting_since = os::monotonic_nanoseconds();
    reap();  // Somebody may have died with what is missing.
  }
}

bool Ledger::has_committed_pages(BlockId block) const {
  for (Link<PageId> at = record(block).first_page; at; at = page(*at).next)
    if (page(*at).committed.load(std::memory_order_relaxed) != PageState::Nothing) return true;
  return false;
}

// Removes one holder; true if the block has none left.
bool Ledger::drop_hold_locked(BlockId block, SlotId slot) {
  holder_word(record(block), slot) &= ~holder_bit(slot);
  return !has_holder(record(block));
}

void Ledger::begin_scrub_locked(BlockId block, uint64_t scrubber) {
  HandleRecord& record = handles_[block.value];
  if (record.state.load(std::memory_order_relaxed) != HandleState::Scrub) header_->scrub_count += 1;
  record.scrubber = scrubber;
  record.state.store(HandleState::Scrub, std::memory_order_release);
}

void Ledger::free_block_locked(BlockId block) {
  HandleRecord& record = handles_[block.value];
  // The commit word first: from here on a rebuild sees a free record and takes its pages and whitelist as
  // free.
  const Link<PageId> first_page = record.first_page;
  Link<ListId> whitelist = record.whitelist;
  if (record.state.load(std::memory_order_relaxed) == HandleState::Scrub) header_->scrub_count -= 1;
  record.state.store(HandleState::Free, std::memory_order_release);
  crash_point("free-record");
  core::clear_bit(handle_bits(), block.value);
  for (Link<PageId> at = first_page; at; at = page(*at).next) {
    core::clear_bit(page_bits(), (*at).value);
    header_->free_pages += 1;
  }
  drop_whitelist_locked(whitelist);
  crash_point("free-done");
}

// Needs no memory: nobody who gives a block back could do anything if there was none.
void Ledger::release(BlockId block) {
  {
    const Lock lock(*this);
    assert(held_by_me_locked(block));
    if (const auto further = further_holds_.find(block); further != further_holds_.end()) {
      if (--further->second == 0) further_holds_.erase(further);
      return;
    }
    if (!drop_hold_locked(block, slot_)) return;
    crash_point("release-last");
    if (!has_committed_pages(block)) return free_block_locked(block);
    begin_scrub_locked(block, incarnation_);
    crash_point("release-scrub");
  }
  scrub({&block, 1});
}

void Ledger::begin(Discard discard) {
  discard_ = std::move(discard);
  reap();
}

void Ledger::scrub(std::span<const BlockId> blocks) {
  for (const BlockId block : blocks) {
    PageId run_start;
    uint32_t run_length = 0;
    const auto flush = [&] {
      if (run_length > 0) discard_(run_start, run_length);
      run_length = 0;
    };
    for_each_page(block, [&](PageId id) {
      if (page(id).committed.load(std::memory_order_relaxed) == PageState::Nothing) return flush();
      if (run_length > 0 && id.value != run_start.value + run_length) flush();
      if (run_length == 0) run_start = id;
      run_length += 1;
    });
    flush();
    crash_point("scrub-discarded");
    for_each_page(
        block, [&](PageId id) { page(id).committed.store(PageState::Nothing, std::memory_order_relaxed); });
    crash_point("scrub-cleared");
  }
  if (blocks.empty()) return;
  const Lock lock(*this);
  for (const BlockId block : blocks) free_block_locked(block);
}

void Ledger::hold_locked(BlockId block) {
  if (held_by_me_locked(block)) further_holds_[block] += 1;
  holder_word(record(block), slot_) |= holder_bit(slot_);
}

bool Ledger::held_by_me_locked(BlockId block) const {
  return (record(block).holders[slot_.value / 64] & holder_bit(slot_)) != 0;
}

bool Ledger::held_by_others_locked(BlockId block) const {
  for (uint32_t word = 0; word < kHolderWords; ++word) {
    const uint64_t mine = word == slot_.value / 64 ? holder_bit(slot_) : 0;
    if ((record(block).holders[word] & ~mine) != 0) return true;
  }
  return false;
}

Usage Ledger::usage() {
  look_after_file();
  std::vector<BlockId> to_scrub;
  for (;;) {
    {
      const Lock lock(*this);
      reap_locked(to_scrub);
      if (to_scrub.empty()) return usage_locked();
    }
    scrub(to_scrub);
    to_scrub.clear();
  }
}

std::vector<Ledger::Clearing> Ledger::clearing_locked() const {
  std::map<uint64_t, Clearing> by_scrubber;
  if (header_->scrub_count == 0) return {};
  for (const BlockId block : blocks())
    if (record(block).state.load(std::memory_order_relaxed) == HandleState::Scrub)
      by_scrubber[record(block).scrubber].pages += record(block).page_count;
  for (const ProcessSlot& slot : std::span(slots_, kMaxProcesses)) {
    const auto found = by_scrubber.find(slot.incarnation);
    if (found == by_scrubber.end() || slot.state.load(std::memory_order_relaxed) != SlotState::Live) continue;
    found->second.pid = slot.pid;
    found->second.name = slot.name;
    found->second.is_stopped = slot.pid_namespace == me_.pid_namespace && os::is_stopped(slot.pid);
  }
  std::vector<Clearing> clearing;
  clearing.reserve(by_scrubber.size());
  for (auto& [scrubber, process] : by_scrubber) clearing.push_back(std::move(process));
  return clearing;
}

std::string Ledger::describe(const std::vector<Clearing>& clearing) {
  std::string text;
  for (const Clearing& process : clearing)
    text += fmt::format("{}{} by pid {} ({}){}", text.empty() ? "" : ", ",
                        format_bytes(process.pages * core::kPageBytes), process.pid, process.name,
                        process.is_stopped ? ", which is stopped" : "");
  return text;
}

Usage Ledger::usage_locked() {
  Usage usage;
  usage.total_bytes = header_->capacity_bytes;
  // What is being cleared counts as free, because an allocation that needs it waits for it; but not what a
  // stopped process is clearing, for which none would wait.
  usage.free_page_bytes =
      (header_->free_pages + pages_to_come(clearing_locked(), /*hope_for_the_stopped=*/false)) *
      core::kPageBytes;
  usage.free_bytes = usage.free_page_bytes;
  for (const ProcessSlot& slot : std::span(slots_, kMaxProcesses))
    if (slot.state.load(std::memory_order_relaxed) == SlotState::Live)
      usage.free_bytes += slot.small_free_bytes.load(std::memory_order_relaxed);
  if (fault::armed() && header_->device_number < kMaxDevices) [[unlikely]] {
    const uint64_t lost = usage.total_bytes - fault::capacity_left(header_->device_number, usage.total_bytes);
    usage.total_bytes -= lost;
    usage.free_page_bytes -= std::min(usage.free_page_bytes, lost);
    usage.free_bytes -= std::min(usage.free_bytes, lost);
  }
  return usage;
}

std::vector<Holder> Ledger::holders_locked() {
  std::vector<Holder> holders(kMaxProcesses);
  for (const HandleRecord& record : std::span(handles_, header_->handle_count)) {
    if (record.state.load(std::memory_order_acquire) != HandleState::Allocated) continue;
    const uint64_t bytes = uint64_t{record.page_count} * core::kPageBytes;
    const bool shared = holder_count(record) > 1;
    for (const SlotId slot : slots()) {
      if ((record.holders[slot.value / 64] & holder_bit(slot)) == 0) continue;
      Holder& holder = holders[slot.value];
      holder.bytes += bytes;
      holder.blocks += 1;
      if (shared) holder.shared_bytes += bytes;
    }
  }
  std::vector<Holder> live;
  for (const SlotId id : slots()) {
    if (slot(id).state.load(std::memory_order_relaxed) != SlotState::Live) continue;
    holders[id.value].pid = slot(id).pid;
    holders[id.value].name = slot(id).name;
    live.push_back(holders[id.value]);
  }
  std::sort(live.begin(), live.end(), [](const Holder& a, const Holder& b) { return a.bytes > b.bytes; });
  return live;
}

std::vector<Holder> Ledger::holders() {
  reap();
  const Lock lock(*this);
  return holders_locked();
}

Error Ledger::out_of_memory_locked(uint64_t page_count, uint64_t asked_bytes) {
  const LedgerHeader& h = *header_;
  const uint64_t taken = page_count * core::kPageBytes;
  const uint64_t asked = asked_bytes != 0 ? asked_bytes : taken;
  const std::string rounded =
      asked == taken ? ""
                     : fmt::format(", which takes {} with padding and in whole pages", format_bytes(taken));
  const std::string where =
      h.device_number < kMaxDevices ? fmt::format("device {}", h.device_number) : "host memory";
  if (page_count <= h.free_pages)
    return Error{RuleId::OutOfHandles, "handle",
                 fmt::format("all {} memory handles of {} are in use", h.handle_count, where)};
  std::string who;
  size_t named = 0;
  for (const Holder& holder : holders_locked()) {
    if (holder.bytes == 0 || named == 3) break;
    who +=
        fmt::format("{}pid {} ({}) {} in {} block{}", named++ == 0 ? "; largest holders: " : ", ", holder.pid,
                    holder.name, format_bytes(holder.bytes), holder.blocks, holder.blocks == 1 ? "" : "s");
  }
  if (const auto clearing = clearing_locked(); !clearing.empty())
    who += fmt::format("; still being cleared: {}", describe(clearing));
  return Error{
      RuleId::OutOfMemory, "size",
      fmt::format("{}: asked for {} ({} bytes){}, free {} ({} bytes) of {}{}", where, format_bytes(asked),
                  asked, rounded, format_bytes(uint64_t{h.free_pages} * core::kPageBytes),
                  uint64_t{h.free_pages} * core::kPageBytes, format_bytes(h.capacity_bytes), who)};
}

bool Ledger::data_fd_is_ours() const {
  const auto identity = os::identify(data_.get());
  return identity && *identity == data_identity_;
}

}  // namespace plat::device
