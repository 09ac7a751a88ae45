// SPDX-License-Identifier: Apache-2.0
// Contents: what was in the device memory of this process at a moment, kept in memory of the host. Memory
// that was imported is its exporter's, and left out. Nobody may use the memory while it is saved or written
// back.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "device/ids.h"
#include "vmm/vmm.h"

namespace plat::vmm {

class Contents {
 public:
  // Fails when the host has no room for them.
  static Result<Contents> save(Vmm& vmm);
  // Writes them back. Fails, and nothing is written, when a block is gone, another process has memory of one
  // of the devices, or the host has no memory for the pages.
  Result<> restore(Vmm& vmm) const;
  uint64_t size_bytes() const;

 private:
  struct Page {
    device::PageId number;
    std::unique_ptr<std::byte[]> bytes;  // none: it was never written
  };
  struct Block {
    device::BankId bank;
    device::BlockId index;  // of the bank's ledger
    uint32_t generation;    // of that place
    std::vector<Page> pages;
  };
  std::vector<Block> blocks_;
};

}  // namespace plat::vmm
