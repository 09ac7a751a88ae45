// SPDX-License-Identifier: Apache-2.0
// Physical memory handles of this process.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "acl/acl_rt.h"
#include "base/result.h"
#include "core/generation_table.h"
#include "device/bank.h"
#include "device/node.h"
#include "vmm/ids.h"
#include "vmm/remote.h"

namespace plat::vmm {

// What clients hold as aclrtDrvMemHandle: an index and a generation, never an address, so that a stale or
// made-up one is recognised and not followed.
struct PhysicalHandle {
  uint64_t value = 0;
  static PhysicalHandle of(aclrtDrvMemHandle handle) { return {reinterpret_cast<uint64_t>(handle)}; }
  aclrtDrvMemHandle opaque() const { return reinterpret_cast<aclrtDrvMemHandle>(value); }
};

struct Physical {
  uint32_t references = 0;      // create, import, retain: one each; every mapping one more
  uint32_t map_references = 0;  // those of mappings
  device::Bank* bank = nullptr;
  device::BlockId block;  // of the bank's ledger
  // Instead of bank and block: memory of another server, and the device (physical number) that imported it.
  std::shared_ptr<const Remote> remote;
  uint32_t remote_device = 0;
  uint64_t size_bytes = 0;
  uint64_t page_bytes = 0;
  bool imported = false;
  bool exported = false;
  uint64_t share_number = 0;  // if imported or exported
  uint64_t extra_access = 0;  // devices that every mapping is granted besides the owner: the importing one
  uint32_t link = 0;
};

inline Home home_of(const Physical& physical) {
  return physical.remote ? Home{device::BankId(physical.remote_device), true} : Home{physical.bank->id()};
}

class PhysicalTable {
 public:
  // A fresh entry with one reference, or nullptr when the table is full.
  Physical* add(PhysicalHandle& handle);
  Result<HandleIndex> find(PhysicalHandle handle, std::string_view parameter);
  Physical& at(HandleIndex index) { return table_.at(index.value); }
  const Physical& at(HandleIndex index) const { return table_.at(index.value); }
  PhysicalHandle handle_of(HandleIndex index);
  void remove(HandleIndex index) { table_.give_back(table_.handle_at(index.value)); }
  // The entry by which the devices `reach` import a block, if there is one; none otherwise.
  HandleIndex find_import(const device::Bank* bank, device::BlockId block, uint64_t reach);
  uint32_t size() const { return table_.size(); }
  // visit(index, physical)
  template <class Visit>
  void for_each_live(Visit&& visit) {
    table_.for_each_live(
        [&](core::Handle handle, Physical& physical) { visit(HandleIndex(handle.index), physical); });
  }

 private:
  core::GenerationTable<Physical> table_;
};

// Which bank an allocation comes from and in which pages, or why there can be none.
struct PhysicalSpec {
  device::BankId bank;
  uint64_t page_bytes = 0;
};
Result<PhysicalSpec> resolve(device::Node& node, const aclrtPhysicalMemProp& prop);
// The parts of it that no product makes right: of an allocation, and of a question about one.
Result<> check_arguments(const aclrtPhysicalMemProp& prop);
Result<> check_attribute(const aclrtPhysicalMemProp& prop);
// Whether the product has such pages where the property wants them.
Result<uint64_t> page_bytes_of(device::Node& node, const aclrtPhysicalMemProp& prop);

// The attribute that a driver reports for memory that was asked for with `attribute`.
aclrtMemAttr normalised_attribute(aclrtMemAttr attribute, aclrtMemLocationType location);

inline constexpr uint64_t kGiantPageBytes = uint64_t{1} << 30;
bool is_giant(aclrtMemAttr attribute);
inline uint64_t page_bytes_of(aclrtMemAttr attribute) {
  return is_giant(attribute) ? kGiantPageBytes : core::kPageBytes;
}
// Whether 4 KiB pages were asked for; huge ones are given all the same.
bool asks_normal_pages(aclrtMemAttr attribute);

}  // namespace plat::vmm
