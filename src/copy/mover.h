// SPDX-License-Identifier: Apache-2.0
// Mover: copies, fills, loads and stores, now, in the calling thread.
//
// Addresses tell by themselves whether they are of a device. A device range is checked and pinned as a whole
// before the first byte moves; memory is then reached through the bank. A page that was never written reads
// as zeros without taking memory, and takes it when it is first written. An address of the host is used as
// it is; if nothing is there, the fault becomes the error of the copy (os/guard.h). Page-locked memory is
// checked and kept like memory of the device.
#pragma once

#include <cstddef>
#include <functional>

#include "device/bank.h"
#include "device/ids.h"
#include "malloc/locate.h"
#include "os/guard.h"
#include "vmm/shortcuts.h"
#include "vmm/translate.h"

namespace plat::copy {

class Mover {
 public:
  Mover(malloc::DeviceHeap& heap, const malloc::HostHeap& hosts, const malloc::Locator& locator)
      : heap_(heap), hosts_(hosts), locator_(locator) {}
  Mover(const Mover&) = delete;
  Mover& operator=(const Mover&) = delete;

  struct Claim {  // what the call's kind says of an address that is no device's
    bool target_on_device = false;
    bool source_on_device = false;
  };
  // `device` is the physical number of the device that does the work. Names of parameters are for messages.
  //
  // What the thread remembers of the memory is tried first, then the common case of one page, then the whole
  // range is checked: here, and nowhere else.
  Result<> copy(Va target, Va source, uint64_t size_bytes, uint32_t device, Claim claim) const {
    if (copy_again(target, source, size_bytes, device, claim)) return {};
    return copy_anew(target, source, size_bytes, device, claim);
  }
  Result<> copy(Va target, Va source, uint64_t size_bytes, uint32_t device) const {
    return copy(target, source, size_bytes, device, Claim{});
  }
  // The two steps of it, for callers with something to do in between.
  //
  // Between the host and a page that this thread has used before, see vmm/shortcuts.h. False when it is
  // something else, or anything is wrong with it, a fault on the way included: copy_anew does it again and
  // tells. In line: this is what short copies cost.
  bool copy_again(Va target, Va source, uint64_t size_bytes, uint32_t device, Claim claim) const {
    const vmm::AddressSpace& space = heap_.vmm().space();
    if (!claim.source_on_device && !space.is_device_address(source)) {
      const vmm::Shortcuts::Use use(space, target, size_bytes, device);
      malloc::HostUse held;
      if (use.memory() != nullptr && hosts_.hold_again(held, source, size_bytes, malloc::HostUse::Source))
          [[likely]]
        return os::copy(use.memory(), host(source), size_bytes);
    }
    if (!claim.target_on_device && !space.is_device_address(target)) {
      const vmm::Shortcuts::Use use(space, source, size_bytes, device);
      malloc::HostUse held;
      if (use.memory() != nullptr && hosts_.hold_again(held, target, size_bytes, malloc::HostUse::Target))
          [[likely]]
        return os::copy(host(target), use.memory(), size_bytes);
    }
    return false;
  }
  Result<> copy_anew(Va target, Va source, uint64_t size_bytes, uint32_t device, Claim claim) const;
  // Rows of `width` bytes.
  struct Area {
    Va target;
    uint64_t target_pitch = 0;
    Va source;
    uint64_t source_pitch = 0;
    uint64_t width = 0;
    uint64_t height = 0;
  };
  Result<> copy_2d(const Area& area, uint32_t device, Claim claim) const;

  Result<> fill(Va target, uint64_t size_bytes, uint8_t value, uint32_t device) const;
  Result<> fill_words(Va target, uint64_t count, uint32_t value, uint32_t device) const;
  // Eight aligned bytes at once.
  Result<uint64_t> load(Va address, uint32_t device) const;
  Result<> store(Va address, uint64_t value, uint32_t device) const;

  // Whether the range could be copied now.
  Result<> check(Va start, uint64_t size_bytes, uint32_t device, const char* parameter) const;

 private:
  static std::byte* host(Va va) { return static_cast<std::byte*>(pointer_of(va)); }
  // Between the host and one page of a device; nothing is told here either.
  bool copy_in_page(Va target, Va source, uint64_t size_bytes, uint32_t device, Claim claim) const;
  Result<> check_peers(Va target, Va source) const;
  Result<> settle(const vmm::PinnedRange& range) const;
  // Memory of other servers (mover_remote.cpp).
  bool is_remote(Va va) const { return heap_.vmm().space().entry(va).tag() == vmm::PageEntry::Remote; }
  Result<vmm::PinnedRange> take_remote(Va start, uint64_t size_bytes, uint32_t device,
                                       const char* parameter) const;
  Result<> copy_remote(Va target, Va source, uint64_t size_bytes, uint32_t device, Claim claim) const;
  Result<> write_remote(const vmm::PinnedRange& range, Va start, uint64_t size_bytes,
                        const vmm::Remote::Source& source) const;
  Result<> read_remote(const vmm::PinnedRange& range, Va start, uint64_t size_bytes,
                       const vmm::Remote::Sink& sink) const;
  Result<> send_remote(const vmm::PinnedRange& range, Va source, uint32_t device, Claim claim) const;
  Result<> fetch_remote(Va target, const vmm::PinnedRange& range, uint32_t device, Claim claim) const;
  Result<> relay(const vmm::PinnedRange& target, const vmm::PinnedRange& source) const;
  Result<> fill_remote(Va target, uint64_t size_bytes, uint32_t pattern, uint32_t device) const;
  Result<vmm::PinnedRange> take(Va start, uint64_t size_bytes, uint32_t device, const char* parameter) const;
  Error explain(Error error, Va start, uint64_t size_bytes) const;
  Result<> probe(Va start, uint64_t size_bytes, const char* parameter) const;
  Error blame_fault(Va start, uint64_t size_bytes, const char* parameter) const;
  Error blame_fault(Va target, Va source, uint64_t size_bytes) const;
  Result<> write(const vmm::PinnedRange& range, const std::byte* source) const;
  Result<> read(std::byte* target, const vmm::PinnedRange& range) const;
  Result<> move(const vmm::PinnedRange& target, const vmm::PinnedRange& source) const;
  Result<> fill_pattern(Va target, uint64_t size_bytes, uint32_t pattern, uint32_t device) const;

  device::Bank& bank(device::BankId id) const { return *heap_.vmm().node().open_bank(id); }

  malloc::DeviceHeap& heap_;
  const malloc::HostHeap& hosts_;
  const malloc::Locator& locator_;
};

}  // namespace plat::copy
