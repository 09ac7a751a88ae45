// SPDX-License-Identifier: Apache-2.0
#include "share/ipc.h"

#include <charconv>
#include <vector>

#include "device/crash.h"
#include "rules/rules.h"
#include "share/shareable.h"

namespace plat::share {

using device::IpcRecord;
using device::Ledger;

namespace {

constexpr char kPrefix[] = "plat";
// Beside the flags of the export: the block is just being freed.
constexpr uint32_t kClosed = uint32_t{1} << 31;
constexpr size_t kDeviceAt = 4, kIndexAt = 6, kSecretAt = 14, kSecretEnd = 30;

tl::unexpected<Error> unknown(const std::string& key) {
  return fail(RuleId::IpcUnknown, "key", "'{}' ({} characters) names no live export", key, key.size());
}

std::optional<uint64_t> hex(std::string_view text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Under the ledger's lock. Nothing when the key is closed, or its block is no longer the exporter's.
IpcRecord* find_key(Ledger& ledger, uint32_t index, uint64_t secret) {
  if (index >= device::kIpcKeys) return nullptr;
  IpcRecord& record = ledger.ipc(index);
  const bool live = secret != 0 && record.secret.load(std::memory_order_acquire) == secret;
  return live && (record.flags & kClosed) == 0 ? &record : nullptr;
}

}  // namespace

std::optional<Ipc::Parsed> Ipc::parse(const std::string& key) {
  const std::string_view text = key;
  if (text.size() != kKeyLength || text.substr(0, kDeviceAt) != kPrefix) return std::nullopt;
  const auto device = hex(text.substr(kDeviceAt, kIndexAt - kDeviceAt));
  const auto index = hex(text.substr(kIndexAt, kSecretAt - kIndexAt));
  const auto secret = hex(text.substr(kSecretAt, kSecretEnd - kSecretAt));
  if (!device || !index || !secret) return std::nullopt;
  return Parsed{static_cast<uint32_t>(*device), static_cast<uint32_t>(*index), *secret};
}

Result<std::string> Ipc::export_range(Va start, uint64_t size_bytes, uint64_t flags) {
  const std::lock_guard lock(mutex_);
  const vmm::AddressSpace& space = vmm_.space();
  const vmm::PageEntry entry = space.entry(start);
  const vmm::Mapping* mapping =
      entry.tag() == vmm::PageEntry::Mapped ? space.mapping(entry.mapping()) : nullptr;
  const auto kind =
      mapping == nullptr ? vmm::MappingKind::Client : mapping->kind.load(std::memory_order_acquire);
  if (kind != vmm::MappingKind::Region)
    return fail(RuleId::IpcMemory, "devPtr", "{:#x} {}", start.value,
                kind == vmm::MappingKind::Imported ? "was imported from another process"
                                                   : "is no memory of aclrtMalloc");
  Va block_start{mapping->start.load(std::memory_order_acquire)};
  uint64_t block_size = mapping->size_bytes.load(std::memory_order_acquire);
  const uint64_t region_start = block_start.value;
  if (const vmm::SubBlocks* blocks = mapping->sub_blocks.load(std::memory_order_acquire)) {
    const auto block = blocks->block_at(start);
    if (!block) return fail(RuleId::IpcMemory, "devPtr", "{:#x} is not allocated", start.value);
    block_start = block->start;
    block_size = block->size_bytes;
  }
  const uint64_t offset = start - block_start;
  if (size_bytes > block_size - offset)
    return fail(RuleId::IpcMemory, "size", "{} bytes at offset {} of a block of {} bytes", size_bytes, offset,
                block_size);
  device::Bank* bank = vmm_.node().open_bank(entry.bank());
  Ledger& ledger = bank->ledger();
  const uint64_t random = secret(vmm_.node()) | 1;
  uint32_t index = 0;
  {
    const Ledger::Lock ledger_lock(ledger);
    const auto free_key = ledger.free_ipc_locked();
    if (!free_key)
      return fail(RuleId::IpcFull, "key", "device {} has {} live keys", entry.bank(), device::kIpcKeys);
    index = *free_key;
    IpcRecord& record = ledger.ipc(index);
    record.exporter = ledger.incarnation();
    record.offset_bytes = start.value - region_start;
    record.size_bytes = size_bytes;
    record.handle = mapping->block;
    record.handle_generation = ledger.record(mapping->block).generation;
    record.flags = static_cast<uint32_t>(flags);
    record.whitelist = 0;
    device::crash_point("ipc-record");
    record.secret.store(random, std::memory_order_release);
  }
  std::string key = fmt::format("{}{:02x}{:08x}{:016x}", kPrefix, entry.bank(), index, random);
  key.resize(kKeyLength, '0');
  exports_[key] = Exported{bank, index, start, block_start};
  export_count_.store(exports_.size(), std::memory_order_release);
  return key;
}

Result<> Ipc::allow(const std::string& key, std::span<const int32_t> pids) {
  PLAT_ASSIGN(usable, usable_pids(pids));
  const auto parsed = parse(key);
  if (!parsed || parsed->device >= vmm_.node().config().device_count) return unknown(key);
  PLAT_ASSIGN(bank, vmm_.node().bank(parsed->device));
  Ledger& ledger = bank->ledger();
  const Ledger::Lock lock(ledger);
  IpcRecord* record = find_key(ledger, parsed->index, parsed->secret);
  if (record == nullptr) return unknown(key);
  if (record->exporter != ledger.incarnation())
    return fail(RuleId::IpcNotExporter, "key", "another process exported this key");
  if ((record->flags & kNoPidValidation) != 0)
    return fail(RuleId::IpcNoWhitelist, "key", "the key was exported without pid validation");
  if (!ledger.add_to_whitelist_locked(record->whitelist, usable))
    return fail(RuleId::ShareFull, "pid", "no room for {} more pids on device {}", usable.size(),
                parsed->device);
  return {};
}

Result<Va> Ipc::import_key(const std::string& key) {
  const auto parsed = parse(key);
  if (!parsed || parsed->device >= vmm_.node().config().device_count) return unknown(key);
  const std::lock_guard lock(mutex_);
  if (const auto own = exports_.find(key); own != exports_.end()) {
    PLAT_TRY(report::check_soft(false, RuleId::IpcOwnProcess, "key", "this process exported the key itself"));
    return own->second.start;
  }
  if (const auto known = imports_.find(key); known != imports_.end()) {
    known->second.count += 1;
    return known->second.address;
  }
  return attach(key, *parsed);
}

// Holds the block, and maps all of it at an address of this process. mutex_ is held.
Result<Va> Ipc::attach(const std::string& key, const Parsed& parsed) {
  PLAT_ASSIGN(bank, vmm_.node().bank(parsed.device));
  Ledger& ledger = bank->ledger();
  IpcRecord part{};
  uint64_t pages = 0;
  {
    const Ledger::Lock ledger_lock(ledger);
    const IpcRecord* record = find_key(ledger, parsed.index, parsed.secret);
    if (record == nullptr) return unknown(key);
    const device::HandleRecord& handle = ledger.record(record->handle);
    if (handle.state.load(std::memory_order_acquire) != device::HandleState::Allocated ||
        handle.generation != record->handle_generation)
      return unknown(key);
    if ((record->flags & kNoPidValidation) == 0 &&
        !ledger.is_whitelisted_locked(record->whitelist, ledger.my_slot().bare_pid))
      return fail(RuleId::IpcDenied, "key", "pid {} is not on the key's whitelist",
                  ledger.my_slot().bare_pid);
    part.handle = record->handle;
    part.offset_bytes = record->offset_bytes;
    part.size_bytes = record->size_bytes;
    pages = handle.page_count;
    if (ledger.held_by_me_locked(part.handle)) {
      // Another key of the same block is open here: one hold, one region, two addresses in it.
      for (auto& [start, region] : regions_)
        if (region.bank == parsed.device && region.block == part.handle)
          return add_import(key, region, part.offset_bytes, part.size_bytes);
      return unknown(key);
    }
    ledger.hold_locked(part.handle);
    device::crash_point("ipc-held");
  }
  if (spare_parts_.empty()) {
    parts_.emplace_back();
    spare_parts_.push_back(&parts_.back());
  }
  vmm::Vmm::RegionRequest request;
  request.size_bytes = pages * core::kPageBytes;
  request.alignment = core::kPageBytes;
  request.bank = parsed.device;
  request.sub_blocks = spare_parts_.back();
  request.kind = vmm::MappingKind::Imported;
  const auto mapped = vmm_.map_region(request, part.handle);
  if (!mapped) {
    bank->release(part.handle);
    return forward(mapped.error());
  }
  Region& region = regions_[mapped->start.value];
  region = {mapped->start, parsed.device, part.handle, spare_parts_.back(), 0};
  spare_parts_.pop_back();
  return add_import(key, region, part.offset_bytes, part.size_bytes);
}

Result<Va> Ipc::add_import(const std::string& key, Region& region, uint64_t offset, uint64_t size_bytes) {
  const Va address = region.start + offset;
  region.parts->add(address, size_bytes);
  region.keys += 1;
  imports_[key] = Imported{region.start, address, size_bytes, 1};
  return address;
}

// The last import of a key ends; with the last key of a region the region goes, unless a copy is using it.
Result<> Ipc::let_go(Import imported) {
  const Imported part = imported->second;
  Region& region = regions_.at(part.region.value);
  if (region.keys == 1) PLAT_TRY(vmm_.destroy_region(region.start));
  region.parts->remove(part.address, part.size_bytes);
  region.keys -= 1;
  if (region.keys == 0) {
    spare_parts_.push_back(region.parts);
    regions_.erase(part.region.value);
  }
  imports_.erase(imported);
  return {};
}

Result<> Ipc::set_link(const std::string& key, uint64_t link) {
  const device::Product& product = vmm_.node().product();
  if (!device::has_link(product, link))
    return fail(RuleId::LinkUnsupported, "attr", "{} has no link {}", product.soc_name, link);
  const std::lock_guard lock(mutex_);
  if (!exports_.contains(key) && !imports_.contains(key)) return unknown(key);
  return {};
}

Result<> Ipc::close(const std::string& key) {
  const std::lock_guard lock(mutex_);
  if (const auto exported = exports_.find(key); exported != exports_.end()) {
    Ledger& ledger = exported->second.bank->ledger();
    {
      const Ledger::Lock ledger_lock(ledger);
      ledger.drop_ipc_locked(exported->second.index);
    }
    exports_.erase(exported);
    export_count_.store(exports_.size(), std::memory_order_release);
    return {};
  }
  const auto imported = imports_.find(key);
  if (imported == imports_.end()) return unknown(key);
  if (imported->second.count > 1) {
    imported->second.count -= 1;
    return {};
  }
  return let_go(imported);
}

void Ipc::release_device(uint32_t bank) {
  const std::lock_guard lock(mutex_);
  for (auto at = exports_.begin(); at != exports_.end();) {
    const Exported exported = at->second;
    if (exported.bank->device_number() != bank) {
      ++at;
      continue;
    }
    const Ledger::Lock ledger_lock(exported.bank->ledger());
    exported.bank->ledger().drop_ipc_locked(exported.index);
    at = exports_.erase(at);
  }
  export_count_.store(exports_.size(), std::memory_order_release);
  for (auto at = imports_.begin(); at != imports_.end();) {
    const auto imported = at++;
    // What a copy uses at this moment stays until it is closed.
    if (regions_.at(imported->second.region.value).bank == bank) (void)let_go(imported);
  }
}

Result<> Ipc::free_block(Va block_start, const std::function<Result<>(Importers)>& free) {
  if (export_count_.load(std::memory_order_acquire) == 0) return free(Importers::None);
  std::unique_lock lock(mutex_);
  std::vector<std::string> keys;
  for (const auto& [key, exported] : exports_)
    if (exported.block_start == block_start) keys.push_back(key);
  if (keys.empty()) {
    lock.unlock();
    return free(Importers::None);
  }
  const auto for_each_record = [&](const auto& change) {
    for (const std::string& key : keys) {
      const Exported& exported = exports_.at(key);
      const Ledger::Lock ledger_lock(exported.bank->ledger());
      change(exported.bank->ledger(), exported.index);
    }
  };
  Importers importers = Importers::None;
  for_each_record([&](Ledger& ledger, uint32_t index) {
    ledger.ipc(index).flags |= kClosed;
    if (ledger.held_by_others_locked(ledger.ipc(index).handle)) importers = Importers::Some;
  });
  // mutex_ is held on: another thread that gets the same address cannot export it before the old keys are
  // gone.
  if (auto freed = free(importers); !freed) {
    for_each_record([](Ledger& ledger, uint32_t index) { ledger.ipc(index).flags &= ~kClosed; });
    return freed;
  }
  for_each_record([](Ledger& ledger, uint32_t index) { ledger.drop_ipc_locked(index); });
  for (const std::string& key : keys) exports_.erase(key);
  export_count_.store(exports_.size(), std::memory_order_release);
  return {};
}

}  // namespace plat::share
