// SPDX-License-Identifier: Apache-2.0
#include "fabricd/exports.h"

#include <cerrno>
#include <vector>

#include "base/text.h"
#include "os/memory.h"
#include "share/shareable.h"

namespace plat::fabricd {

using core::kPageBytes;

namespace {
constexpr size_t kMaxImports = 65536;  // of one guest
}

Outcome<device::Bank*> Exports::bank_of(uint64_t share) {
  const device::BankId id(share::device_of(share));
  if (id.value >= node_.config().device_count && id != device::kHostBank)
    return trouble(Cause::Unknown, "this server has no device {}", id.value);
  auto bank = node_.bank(id);
  if (!bank) return trouble(Cause::Full, "device {} cannot be opened: {}", id.value, bank.error().detail);
  close(**bank);
  return *bank;
}

// A bank has all of its memory at hand, for programs that copy. The daemon uses views of what is imported and
// needs the rest only to clear it, for which the file is enough wherever it can be asked to forget: a lying
// peer then reaches no memory that nobody exported.
void Exports::close(device::Bank& bank) {
  const std::lock_guard lock(mutex_);
  if (!closed_.insert(&bank).second) return;
  const uint64_t size_bytes = bank.ledger().capacity_bytes();
  if (os::punch_hole(bank.ledger().data_fd(), size_bytes, kPageBytes) == 0)
    os::unmap_at(reinterpret_cast<uint64_t>(bank.page_memory(device::PageId())), size_bytes);
}

// The pages of the block one behind the other.
Outcome<std::byte*> Exports::view_of(device::Bank& bank, device::BlockId block, uint64_t size_bytes) {
  const uint64_t start = os::reserve_address(0, size_bytes);
  if (start == 0)
    return trouble(Cause::Full, "no addresses for {}: {}", format_bytes(size_bytes), std::strerror(errno));
  auto* view = reinterpret_cast<std::byte*>(start);
  struct Run {
    uint64_t first, count, at;
  };
  std::vector<Run> runs;
  uint64_t at = 0;
  bank.ledger().for_each_page(block, [&](device::PageId page) {
    if (!runs.empty() && runs.back().first + runs.back().count == page.value)
      runs.back().count += 1;
    else
      runs.push_back({page.value, 1, at});
    at += kPageBytes;
  });
  for (const Run& run : runs) {
    const int error =
        os::map_at(start + run.at, run.count * kPageBytes, bank.ledger().data_fd(), run.first * kPageBytes);
    if (error == 0) continue;
    os::unmap(view, size_bytes);
    return trouble(Cause::Full, "{} cannot be mapped: {}", format_bytes(size_bytes), std::strerror(error));
  }
  return view;
}

Outcome<Exports::Granted> Exports::grant(Guest guest, uint64_t share, uint64_t secret) {
  uint64_t has = 0;
  for (const auto& [bank, count] : held_by(guest)) has += count.imports;
  if (has >= kMaxImports) return trouble(Cause::Full, "it holds {} imports of this server already", has);
  auto bank = bank_of(share);
  if (!bank) return pass_on(bank.error());
  const auto held = share::hold_export(**bank, share, secret);
  if (!held) return trouble(Cause::Unknown, "{}", held.error().detail);
  Import made;
  made.guest = guest;
  made.bank = *bank;
  made.block = *held;
  const device::HandleRecord& record = made.bank->ledger().record(made.block);
  made.size_bytes = uint64_t{record.page_count} * kPageBytes;
  // Now, while it can still be refused: a write of another server into memory that the machine does not have
  // would end the daemon.
  if (const auto committed = made.bank->commit(made.block); !committed) {
    end(std::move(made));
    return trouble(Cause::Full, "{}", committed.error().detail);
  }
  auto view = view_of(*made.bank, made.block, made.size_bytes);
  if (!view) {
    end(std::move(made));
    return pass_on(view.error());
  }
  made.view = *view;
  auto registered = target_.offer(made.view, made.size_bytes);
  if (!registered) {
    end(std::move(made));
    return pass_on(registered.error());
  }
  made.registered = std::move(*registered);
  Granted granted;
  granted.size_bytes = made.size_bytes;
  granted.attribute = record.attribute;
  granted.location_type = record.location_type;
  granted.location_id = record.location_id;
  granted.key = made.registered.key;
  granted.base = made.registered.base;
  const std::lock_guard lock(mutex_);
  granted.import = next_++;
  imports_.emplace(granted.import, std::move(made));
  return granted;
}

void Exports::end(Import import) {
  import.registered.memory.reset();
  if (import.view != nullptr) os::unmap(import.view, import.size_bytes);
  import.bank->release(import.block);
}

Outcome<> Exports::take_back(Guest guest, uint64_t import) {
  Import ended;
  {
    const std::lock_guard lock(mutex_);
    const auto found = imports_.find(import);
    if (found == imports_.end() || found->second.guest != guest)
      return trouble(Cause::Unknown, "there is no import {}", import);
    ended = std::move(found->second);
    imports_.erase(found);
  }
  end(std::move(ended));
  return {};
}

void Exports::drop(Guest guest) {
  target_.cut_all(guest);
  std::vector<Import> ended;
  {
    const std::lock_guard lock(mutex_);
    for (auto at = imports_.begin(); at != imports_.end();) {
      const auto import = at++;
      if (import->second.guest != guest) continue;
      ended.push_back(std::move(import->second));
      imports_.erase(import);
    }
  }
  for (Import& import : ended) end(std::move(import));
}

std::map<device::BankId, Exports::Count> Exports::held_by(Guest guest) {
  std::map<device::BankId, Count> held;
  const std::lock_guard lock(mutex_);
  for (const auto& [number, import] : imports_) {
    if (import.guest != guest) continue;
    Count& count = held[import.bank->id()];
    count.imports += 1;
    count.bytes += import.size_bytes;
  }
  return held;
}

}  // namespace plat::fabricd
