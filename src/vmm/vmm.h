// SPDX-License-Identifier: Apache-2.0
// Vmm: the seven steps.
//
// A Reservation is an address range that faults on access; its first mapping binds it to one device. A
// Physical is a handle of this process on a block of the ledger, and is counted: creating, importing,
// retaining and mapping take one reference each. A Mapping is a piece of a reservation that stands for a
// handle; it is found from any address.
//
// One mutex serialises changes; the ledger's is taken below it. Look-ups (address_space.h) take no lock.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "acl/acl_rt.h"
#include "device/bank.h"
#include "device/node.h"
#include "vmm/address_space.h"
#include "vmm/physical.h"

namespace plat::vmm {

class Vmm {
 public:
  explicit Vmm(device::Node& node);
  Vmm(const Vmm&) = delete;
  Vmm& operator=(const Vmm&) = delete;

  device::Node& node() { return node_; }
  const device::Node& node() const { return node_; }
  const AddressSpace& space() const { return space_; }

  // After fork: what is mapped for the host belongs to the parent. Async-signal-safe.
  void abandon_in_child() { space_.abandon_in_child(); }

  // The calls of the API; arguments that no state can make right are checked before.
  Result<Va> reserve(uint64_t size_bytes, Va expected, bool huge_page_flag);
  Result<Va> reserve_cross_server(uint64_t size_bytes, Va expected);
  Result<> release(Va start);
  Result<PhysicalHandle> create(uint64_t size_bytes, const aclrtPhysicalMemProp& prop);
  Result<> free(PhysicalHandle handle);
  Result<> map(Va start, uint64_t size_bytes, uint64_t offset, PhysicalHandle handle, bool grant_owner);
  Result<> unmap(Va start);
  Result<> set_access(Va start, uint64_t size_bytes, std::span<const aclrtMemAccessDesc> grants);
  Result<bool> has_access(Va va, const aclrtMemLocation& location);
  Result<PhysicalHandle> retain(Va start);
  Result<aclrtPhysicalMemProp> properties(PhysicalHandle handle);
  Result<uint64_t> granularity(const aclrtPhysicalMemProp& prop);
  Result<> set_link(PhysicalHandle handle, uint32_t link);
  Result<> map_selected_link(Va target, uint64_t size_bytes, Va source);

  // Starts of the pages of a device that are broken and that work has met. Repaired pages lose what was in
  // them: all of `pages`, or none when one of them is not among those.
  std::vector<Va> broken_pages(device::BankId bank);
  Result<> repair(device::BankId bank, std::span<const Va> pages);

  // Blocks of device memory that this process took itself, mapped or not, each once.
  struct OwnBlock {
    device::BankId bank;
    device::BlockId index;  // of the bank's ledger
    friend auto operator<=>(const OwnBlock&, const OwnBlock&) = default;
  };
  std::vector<OwnBlock> own_blocks();

  // Takes down all that clients made on a device (or kHostBank): mappings, physical handles, and the
  // reservations that are bound to it; those that are bound to nothing with none(). Regions of malloc/ stay.
  void release_device(device::BankId bank);

  // Of a mapping of other servers' memory that is pinned.
  const Remote& remote(const Mapping& mapping) const { return *physical_of(mapping).remote; }

  // While it is held nothing is mapped, unmapped or freed, so that what was looked up stays true.
  [[nodiscard]] std::unique_lock<std::mutex> keep_still() { return std::unique_lock(mutex_); }
  // What a mapping of aclrtMapMem stands for, while everything is kept still.
  const Physical& physical_of(const Mapping& mapping) const {
    return handles_.at(mapping.handle.load(std::memory_order_relaxed));
  }

  // For share/ and fabric/ (sharing.cpp): memory that goes to other processes, or comes from them.
  //
  // Gives the block of a handle a number, once for each handle: `enter` makes it, and writes into the ledger
  // what others shall find.
  struct Export {
    device::Bank* bank;
    uint64_t number;
    uint64_t size_bytes;
    uint64_t page_bytes;
  };
  using EnterExport = std::function<uint64_t(device::Bank& bank, device::BlockId block)>;
  Result<Export> export_block(PhysicalHandle handle, const EnterExport& enter);

  // A handle on a block that another handle, of whatever process, was exported from. The functions are called
  // while nothing changes, here and in the bank's ledger.
  struct Import {
    device::Bank* bank;
    device::BlockId block;            // of the bank's ledger
    uint64_t number;                  // of the export
    uint64_t reach = 0;               // devices that use it, besides the owner
    std::function<Result<>()> check;  // whether the block is what is wanted, and may be had
    std::function<Result<>(PhysicalHandle known)> again;  // it is here already: is that an error?
  };
  Result<PhysicalHandle> import_block(const Import& import);

  // The same for memory of another server, which `device` imports. It is kept until the handle is gone.
  struct RemoteImport {
    std::shared_ptr<const Remote> memory;
    uint32_t device;  // physical number
    uint64_t number;  // of the export, there
    uint64_t size_bytes;
  };
  Result<PhysicalHandle> import_remote(RemoteImport import);

  // For malloc/: a range that is reserved, backed and mapped in one step, and taken down in one. Rules of the
  // seven steps do not apply to it, and clients cannot unmap or release it. `sub_blocks` refines what counts
  // as allocated inside it.
  struct Region {
    Va start;
    uint64_t size_bytes = 0;
    MappingId mapping;
  };
  struct RegionRequest {
    uint64_t size_bytes = 0;  // whole pages
    uint64_t alignment = 0;   // at least the page size
    device::BankId bank;
    device::BlockInfo info;
    const SubBlocks* sub_blocks = nullptr;
    MappingKind kind = MappingKind::Region;
    Va expected;  // where it must lie; 0: anywhere at the alignment
  };
  Result<Region> create_region(const RegionRequest& request);
  // A region over a block that this process already holds (an import); takes over the hold, keeps it on
  // failure.
  Result<Region> map_region(const RegionRequest& request, device::BlockId block);
  // Fails (UnmapBusy) while a copy uses it.
  Result<> destroy_region(Va start);

 private:
  // A block whose pages are to be given back once mutex_ is free: that may take long.
  struct Leftover {
    device::Bank* bank = nullptr;
    device::BlockId block;
    std::shared_ptr<const Remote> remote;
    void give_back();
  };
  struct Target {  // of a mapping, resolved and checked
    ReservationId reservation;
    Reservation* range;
  };
  Result<Target> check_map(Va start, uint64_t size_bytes, const Physical& physical);
  // What a mapping is to be. All of it was checked.
  struct NewMapping {
    Va start;
    uint64_t size_bytes;
    ReservationId reservation;
    device::Bank& bank;
    device::BlockId block;  // of the bank's ledger
    MappingKind kind = MappingKind::Client;
    HandleIndex handle = HandleIndex::none();  // of a Client mapping
    bool grant_owner = true;                   // the bank's device, or the host, may use it
    uint64_t granted = 0;                      // and these devices, if the owner may
    const SubBlocks* sub_blocks = nullptr;
  };
  // What can still fail leaves nothing behind.
  Result<MappingId> install(const NewMapping& wanted);
  Result<> install_remote(Va start, uint64_t size_bytes, ReservationId reservation, const Physical& physical,
                          HandleIndex handle, bool grant_owner);
  Result<MappingId> new_mapping();
  Result<> uninstall(MappingId id);
  Result<Leftover> unmap_locked(Va start);
  Result<> expose_to_host(Mapping& mapping);
  Leftover drop_reference(HandleIndex index);
  Leftover remove_handle(HandleIndex index);
  static void withdraw_number(Physical& physical);
  // A fresh entry of handles_ with one reference.
  struct NewHandle {
    PhysicalHandle handle;
    Physical* physical;
  };
  Result<NewHandle> new_handle();

  device::Node& node_;
  std::mutex mutex_;  // guards everything below
  AddressSpace space_;
  PhysicalTable handles_;
  uint64_t host_mappings_ = 0;  // pieces mapped for the host, against the system's limit
  uint64_t host_mapping_limit_ = 0;
};

}  // namespace plat::vmm
