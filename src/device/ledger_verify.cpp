// SPDX-License-Identifier: Apache-2.0
#include "device/ledger_verify.h"

#include <fmt/format.h>

#include <cstring>
#include <vector>

#include "core/page_table.h"

namespace plat::device {

namespace {

bool test(std::span<const uint64_t> bits, uint32_t index) {
  return (bits[index / 64] >> (index % 64) & 1) != 0;
}

// Every block of the whitelists hangs on one record, or is free.
std::string verify_whitelists(const LedgerTables& tables) {
  std::vector<bool> seen(tables.whitelist.size());
  size_t count = 0;
  const auto walk = [&](Link<ListId> head, const char* what, uint32_t index) -> std::string {
    for (Link<ListId> at = head; at; at = tables.whitelist[(*at).value].next, ++count) {
      const uint32_t part = (*at).value;
      if (part >= seen.size()) return fmt::format("{} {}: broken whitelist", what, index);
      if (seen[part]) return fmt::format("whitelist block {} is in two lists ({} {})", part, what, index);
      seen[part] = true;
    }
    return "";
  };
  std::string difference = walk(tables.header.free_whitelist, "free list", 0);
  for (uint32_t handle = 0; handle < tables.handles.size() && difference.empty(); ++handle)
    if (tables.handles[handle].state.load(std::memory_order_relaxed) != HandleState::Free)
      difference = walk(tables.handles[handle].whitelist, "handle", handle);
  for (uint32_t key = 0; key < tables.ipc.size() && difference.empty(); ++key)
    if (tables.ipc[key].secret.load(std::memory_order_relaxed) != 0)
      difference = walk(tables.ipc[key].whitelist, "key", key);
  if (difference.empty() && count != seen.size())
    difference = fmt::format("{} whitelist blocks are lost", seen.size() - count);
  return difference;
}

}  // namespace

bool is_consistent(const LedgerHeader& h) {
  const auto ends = [](const auto& text) { return std::memchr(text, 0, sizeof text) != nullptr; };
  return h.capacity_bytes == h.page_count * core::kPageBytes && h.handle_count == h.page_count &&
         ledger_offsets(h.page_count, h.handle_count, h.whitelist_count).total == h.total_bytes &&
         ends(h.boot_id) && ends(h.product);
}

std::string verify_tables(const LedgerTables& tables) {
  const LedgerHeader& h = tables.header;
  std::vector<uint32_t> owner(h.page_count, UINT32_MAX);
  uint32_t used = 0;
  uint32_t scrubbed = 0;
  for (uint32_t handle = 0; handle < h.handle_count; ++handle) {
    const HandleRecord& record = tables.handles[handle];
    const bool in_use = record.state.load(std::memory_order_acquire) != HandleState::Free;
    if (in_use != test(tables.handle_bits, handle)) return fmt::format("handle {}: bitmap differs", handle);
    if (!in_use) continue;
    if (record.state.load(std::memory_order_relaxed) == HandleState::Scrub) scrubbed += 1;
    uint32_t length = 0;
    for (Link<PageId> at = record.first_page; at; at = tables.pages[(*at).value].next) {
      const uint32_t page = (*at).value;
      if (page >= h.page_count || ++length > record.page_count)
        return fmt::format("handle {}: broken chain", handle);
      if (owner[page] != UINT32_MAX)
        return fmt::format("page {} belongs to handles {} and {}", page, owner[page], handle);
      if (!test(tables.page_bits, page))
        return fmt::format("page {} of handle {} is marked free", page, handle);
      owner[page] = handle;
    }
    if (length != record.page_count)
      return fmt::format("handle {}: {} pages of {}", handle, length, record.page_count);
    used += length;
  }
  for (uint32_t page = 0; page < h.page_count; ++page) {
    if (owner[page] != UINT32_MAX) continue;
    if (test(tables.page_bits, page)) return fmt::format("page {} is used by nobody", page);
    if (tables.pages[page].committed.load(std::memory_order_relaxed) != PageState::Nothing)
      return fmt::format("free page {} keeps memory", page);
  }
  if (used + h.free_pages != h.page_count)
    return fmt::format("{} used + {} free != {}", used, h.free_pages, h.page_count);
  if (scrubbed != h.scrub_count)
    return fmt::format("{} blocks are being cleared, {} were counted", scrubbed, h.scrub_count);
  return tables.whitelist.empty() ? "" : verify_whitelists(tables);
}

}  // namespace plat::device
