// SPDX-License-Identifier: Apache-2.0
#include "share/ipc.h"

#include <charconv>
#include <vector>

#include "base/text.h"
#include "device/crash.h"
#include "device/report.h"
#include "rules/rules.h"
#include "share/shareable.h"

namespace plat::share {

using device::BankId;
using device::IpcRecord;
using device::Ledger;

namespace {

constexpr char kPrefix[] = "plat";
// Beside the flags of the export: the block is just being freed.
constexpr uint32_t kClosed = uint32_t{1} << 31;
constexpr size_t kDeviceAt = 4, kIndexAt = 6, kSecretAt = 14, kSecretEnd = 30;

Failed unknown(const std::string& key) {
  return fail(RuleId::IpcUnknown, "key", "'{}' ({} characters) names no live export", key, key.size());
}

std::optional<uint64_t> hex(std::string_view text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string key_text(uint64_t device, uint64_t index, uint64_t secret) {
  std::string key = fmt::format("{}{:02x}{:08x}{:016x}", kPrefix, device, index, secret);
  key.resize(kKeyLength, '0');
  return key;
}

// Under the ledger's lock. Nothing when the key is closed, or its block is no longer the exporter's.
IpcRecord* find_key(Ledger& ledger, device::KeyId id, uint64_t secret) {
  if (id.value >= device::kIpcKeys) return nullptr;
  IpcRecord& record = ledger.ipc(id);
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
  // Numbers can be written in several ways, a key in one: a process knows its keys by their text.
  if (!device || !index || !secret || key_text(*device, *index, *secret) != key) return std::nullopt;
  return Parsed{static_cast<uint32_t>(*device), device::KeyId(static_cast<uint32_t>(*index)), *secret};
}

// Which memory a range is, if a key can stand for it. mutex_ is held, and the Vmm kept still.
Result<Ipc::Range> Ipc::check_range(Va start, uint64_t size_bytes, uint64_t page_bytes) {
  const vmm::AddressSpace& space = vmm_.space();
  const vmm::PageEntry entry = space.entry(start);
  const vmm::Mapping* mapping =
      entry.tag() == vmm::PageEntry::Mapped ? space.mapping(entry.mapping()) : nullptr;
  const auto refuse = [&](const char* why) {
    return fail(RuleId::IpcMemory, "devPtr", "{:#x} {}", start.value, why);
  };
  if (mapping == nullptr || entry.bank() == device::kHostBank) return refuse("is no device memory");
  const auto kind = mapping->kind.load(std::memory_order_acquire);
  if (kind == vmm::MappingKind::Imported) return refuse("was imported from another process");
  if (!is_aligned(start.value, page_bytes))
    return fail(RuleId::IpcAligned, "devPtr", "{:#x} lies {} bytes behind the start of its page of {}",
                start.value, start.value % page_bytes, format_bytes(page_bytes));
  const uint64_t mapping_start = mapping->start.load(std::memory_order_acquire);
  Va block_start{mapping_start};
  uint64_t block_size = mapping->size_bytes.load(std::memory_order_acquire);
  uint64_t asked_bytes = block_size;
  if (kind == vmm::MappingKind::Client) {
    const vmm::Physical& physical = vmm_.physical_of(*mapping);
    if (physical.exported || physical.imported)
      return refuse("is memory of a handle that was exported or imported");
  } else if (const vmm::SubBlocks* blocks = mapping->sub_blocks.load(std::memory_order_acquire)) {
    const auto block = blocks->block_at(start);
    if (!block) return refuse("is not allocated");
    block_start = block->start;
    block_size = block->size_bytes;
    asked_bytes = blocks->asked_bytes(*block);
  }
  const uint64_t offset = start - block_start;
  if (size_bytes > align_up(block_size, page_bytes) - offset)
    return fail(RuleId::IpcMemory, "size", "{} bytes at offset {} of a block of {} bytes", size_bytes, offset,
                asked_bytes);
  return Range{vmm_.node().open_bank(entry.bank()), mapping->block, start.value - mapping_start,
               kind == vmm::MappingKind::Client ? Va{0} : block_start};
}

Result<std::string> Ipc::export_range(Va start, uint64_t size_bytes, uint64_t flags, uint64_t page_bytes) {
  const std::lock_guard lock(mutex_);
  const auto still = vmm_.keep_still();
  PLAT_ASSIGN(range, check_range(start, size_bytes, page_bytes));
  Ledger& ledger = range.bank->ledger();
  const uint32_t device = range.bank->id().value;
  const uint64_t random = secret(vmm_.node()) | 1;
  device::KeyId id;
  {
    const Ledger::Lock ledger_lock(ledger);
    const auto free_key = ledger.free_ipc_locked();
    if (!free_key)
      return fail(RuleId::IpcFull, "key", "device {} has {} live keys", device, device::kIpcKeys);
    id = *free_key;
    IpcRecord& record = ledger.ipc(id);
    record.exporter = ledger.incarnation();
    record.offset_bytes = range.offset;
    record.size_bytes = size_bytes;
    record.handle = range.block;
    record.handle_generation = ledger.record(range.block).generation;
    record.flags = static_cast<uint32_t>(flags);
    record.whitelist = {};
    device::crash_point("ipc-record");
    record.secret.store(random, std::memory_order_release);
  }
  std::string key = key_text(device, id.value, random);
  exports_[key] = Exported{range.bank, id, start, range.block_start};
  export_count_.store(exports_.size(), std::memory_order_release);
  return key;
}

Result<> Ipc::allow(const std::string& key, std::span<const int32_t> pids) {
  PLAT_ASSIGN(usable, usable_pids(pids));
  const auto parsed = parse(key);
  if (!parsed || parsed->device >= vmm_.node().config().device_count) return unknown(key);
  PLAT_ASSIGN(bank, vmm_.node().bank(BankId(parsed->device)));
  Ledger& ledger = bank->ledger();
  const Ledger::Lock lock(ledger);
  IpcRecord* record = find_key(ledger, parsed->id, parsed->secret);
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
  PLAT_ASSIGN(bank, vmm_.node().bank(BankId(parsed.device)));
  Ledger& ledger = bank->ledger();
  IpcRecord part{};
  uint64_t pages = 0;
  {
    const Ledger::Lock ledger_lock(ledger);
    const IpcRecord* record = find_key(ledger, parsed.id, parsed.secret);
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
    // Another key of the same block may be open here: one hold, one region, two addresses in it.
    for (auto& [start, region] : regions_)
      if (region.bank == BankId(parsed.device) && region.block == part.handle)
        return add_import(key, region, part.offset_bytes, part.size_bytes);
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
  request.bank = BankId(parsed.device);
  request.sub_blocks = spare_parts_.back();
  request.kind = vmm::MappingKind::Imported;
  const auto mapped = vmm_.map_region(request, part.handle);
  if (!mapped) {
    bank->release(part.handle);
    return forward(mapped.error());
  }
  Region& region = regions_[mapped->start.value];
  region = {mapped->start, BankId(parsed.device), part.handle, spare_parts_.back(), 0};
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
  const auto parsed = parse(key);
  if (!parsed || parsed->device >= vmm_.node().config().device_count) return unknown(key);
  PLAT_ASSIGN(bank, vmm_.node().bank(BankId(parsed->device)));
  const std::lock_guard lock(mutex_);
  if (exports_.contains(key) || imports_.contains(key)) return {};
  {
    const Ledger::Lock ledger_lock(bank->ledger());
    if (find_key(bank->ledger(), parsed->id, parsed->secret) == nullptr) return unknown(key);
  }
  linked_.insert(key);
  return {};
}

Result<> Ipc::close(const std::string& key) {
  const std::lock_guard lock(mutex_);
  const bool was_linked = linked_.erase(key) != 0;
  if (const auto exported = exports_.find(key); exported != exports_.end()) {
    Ledger& ledger = exported->second.bank->ledger();
    {
      const Ledger::Lock ledger_lock(ledger);
      ledger.drop_ipc_locked(exported->second.id);
    }
    exports_.erase(exported);
    export_count_.store(exports_.size(), std::memory_order_release);
    return {};
  }
  const auto imported = imports_.find(key);
  if (imported == imports_.end()) return was_linked ? Result<>{} : unknown(key);
  if (imported->second.count > 1) {
    imported->second.count -= 1;
    return {};
  }
  return let_go(imported);
}

void Ipc::release_device(BankId bank) {
  const std::lock_guard lock(mutex_);
  for (auto at = exports_.begin(); at != exports_.end();) {
    const Exported exported = at->second;
    if (exported.bank->id() != bank) {
      ++at;
      continue;
    }
    const Ledger::Lock ledger_lock(exported.bank->ledger());
    exported.bank->ledger().drop_ipc_locked(exported.id);
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
      change(exported.bank->ledger(), exported.id);
    }
  };
  Importers importers = Importers::None;
  for_each_record([&](Ledger& ledger, device::KeyId key) {
    ledger.ipc(key).flags |= kClosed;
    if (ledger.held_by_others_locked(ledger.ipc(key).handle)) importers = Importers::Some;
  });
  // mutex_ is held on: another thread that gets the same address cannot export it before the old keys are
  // gone.
  if (auto freed = free(importers); !freed) {
    for_each_record([](Ledger& ledger, device::KeyId key) { ledger.ipc(key).flags &= ~kClosed; });
    return freed;
  }
  for_each_record([](Ledger& ledger, device::KeyId key) { ledger.drop_ipc_locked(key); });
  for (const std::string& key : keys) exports_.erase(key);
  export_count_.store(exports_.size(), std::memory_order_release);
  return {};
}

}  // namespace plat::share
