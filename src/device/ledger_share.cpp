// SPDX-License-Identifier: Apache-2.0
// Whitelists and IPC keys: the part of the ledger that sharing needs.
#include <algorithm>

#include "device/crash.h"
#include "device/ledger.h"

namespace plat::device {

bool Ledger::add_to_whitelist_locked(Link<ListId>& head, std::span<const int32_t> pids) {
  std::vector<int32_t> fresh(pids.begin(), pids.end());
  std::sort(fresh.begin(), fresh.end());
  fresh.erase(std::unique(fresh.begin(), fresh.end()), fresh.end());
  std::vector<int32_t> known;
  for (Link<ListId> at = head; at; at = part(*at).next)
    known.insert(known.end(), part(*at).pids, part(*at).pids + part(*at).count);
  std::sort(known.begin(), known.end());
  std::vector<int32_t> added;
  std::set_difference(fresh.begin(), fresh.end(), known.begin(), known.end(), std::back_inserter(added));
  // New pids go into fresh blocks in front of the old ones; storing the head is what makes them count.
  Link<ListId> new_head = head;
  for (size_t done = 0; done < added.size();) {
    const Link<ListId> taken = header_->free_whitelist;
    if (!taken) {
      while (new_head != head) {  // give back what this call took
        const Link<ListId> next = part(*new_head).next;
        part(*new_head).next = header_->free_whitelist;
        header_->free_whitelist = new_head;
        new_head = next;
      }
      return false;
    }
    WhitelistBlock& block = part(*taken);
    header_->free_whitelist = block.next;
    block.next = new_head;
    block.count = static_cast<uint32_t>(std::min<size_t>(kWhitelistPids, added.size() - done));
    std::copy_n(added.begin() + static_cast<std::ptrdiff_t>(done), block.count, block.pids);
    done += block.count;
    new_head = taken;
    crash_point("whitelist-block");
  }
  head = new_head;
  return true;
}

bool Ledger::is_whitelisted_locked(Link<ListId> head, int32_t pid) const {
  for (Link<ListId> at = head; at; at = part(*at).next) {
    const WhitelistBlock& block = part(*at);
    if (std::find(block.pids, block.pids + block.count, pid) != block.pids + block.count) return true;
  }
  return false;
}

void Ledger::drop_whitelist_locked(Link<ListId>& head) {
  while (head) {
    WhitelistBlock& block = part(*head);
    const Link<ListId> next = block.next;
    block.next = header_->free_whitelist;
    header_->free_whitelist = head;
    head = next;
  }
}

std::optional<KeyId> Ledger::free_ipc_locked() const {
  for (const KeyId key : keys())
    if (ipc(key).secret.load(std::memory_order_relaxed) == 0) return key;
  return std::nullopt;
}

void Ledger::drop_ipc_locked(KeyId key) {
  ipc(key).secret.store(0, std::memory_order_release);
  crash_point("ipc-dropped");
  drop_whitelist_locked(ipc(key).whitelist);
}

}  // namespace plat::device
