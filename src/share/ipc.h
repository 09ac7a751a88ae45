// SPDX-License-Identifier: Apache-2.0
// IPC keys: text that stands for part of an aclrtMalloc block, or of a mapping.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "device/bank.h"
#include "device/ids.h"
#include "share/imported_parts.h"
#include "vmm/vmm.h"

namespace plat::share {

inline constexpr size_t kKeyLength = 64;  // characters, without the null

// Whether another process has imported part of a block, and keeps it.
enum class Importers { None, Some };

class Ipc {
 public:
  explicit Ipc(vmm::Vmm& vmm) : vmm_(vmm) {}

  // The memory lies in pages of `page_bytes`.
  Result<std::string> export_range(Va start, uint64_t size_bytes, uint64_t flags, uint64_t page_bytes);
  Result<> allow(const std::string& key, std::span<const int32_t> pids);
  // Where the memory stands in this process; a second import of a key gives the same address and is counted.
  Result<Va> import_key(const std::string& key);
  // A hint: how the memory is reached. All of it is equally near here, so the hint is only checked, and
  // remembered until the key is closed.
  Result<> set_link(const std::string& key, uint64_t link);
  // Undoes one import, or ends an export.
  Result<> close(const std::string& key);

  // Has `free` free the block that starts there. The keys of the block are closed before, so that nobody
  // imports what is about to go, and end with it; if it is not freed they open again. Cheap while nothing is
  // exported.
  Result<> free_block(Va block_start, const std::function<Result<>(Importers)>& free);
  // Ends the keys of a device's blocks, and takes back what was imported from it.
  void release_device(device::BankId bank);

 private:
  struct Parsed {
    uint32_t device;
    plat::device::KeyId id;
    uint64_t secret;
  };
  struct Exported {
    device::Bank* bank;
    device::KeyId id;
    Va start;
    Va block_start;  // of aclrtMalloc; 0 for a mapping
  };
  struct Range {
    device::Bank* bank;
    device::BlockId block;  // of the ledger
    uint64_t offset;        // in it
    Va block_start;         // as in Exported
  };
  struct Region {
    Va start;
    device::BankId bank;
    device::BlockId block;
    ImportedParts* parts;
    uint32_t keys;  // that stand for part of it
  };
  struct Imported {
    Va region;
    Va address;
    uint64_t size_bytes;
    uint32_t count;
  };
  using Import = std::map<std::string, Imported>::iterator;

  static std::optional<Parsed> parse(const std::string& key);
  Result<Range> check_range(Va start, uint64_t size_bytes, uint64_t page_bytes);
  Result<Va> attach(const std::string& key, const Parsed& parsed);
  Result<Va> add_import(const std::string& key, Region& region, uint64_t offset, uint64_t size_bytes);
  Result<> let_go(Import imported);

  vmm::Vmm& vmm_;
  std::mutex mutex_;  // guards everything below
  std::map<std::string, Exported> exports_;
  std::map<std::string, Imported> imports_;
  std::set<std::string> linked_;        // keys that only have a link in this process
  std::map<uint64_t, Region> regions_;  // that were imported, by start
  std::deque<ImportedParts> parts_;     // of all regions there ever were: readers may still look at them
  std::vector<ImportedParts*> spare_parts_;
  std::atomic<size_t> export_count_{0};
};

}  // namespace plat::share
