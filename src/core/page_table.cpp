// SPDX-License-Identifier: Apache-2.0
#include "core/page_table.h"

#include <cstdlib>

namespace plat::core {

PageTable::~PageTable() {
  for (auto& leaf : leaves_) std::free(leaf.load(std::memory_order_relaxed));
}

bool PageTable::prepare(Va va, uint64_t size_bytes) {
  const uint64_t first = va.value >> (kPageShift + kLeafBits);
  const uint64_t last = (va.value + size_bytes - 1) >> (kPageShift + kLeafBits);
  if (last >= kLeaves) return false;
  for (uint64_t leaf = first; leaf <= last; ++leaf) {
    // Relaxed: those who prepare and store are serialised by their caller's lock.
    if (leaves_[leaf].load(std::memory_order_relaxed) != nullptr) continue;
    // calloc, because the system gives zero pages on first touch: a sparse leaf costs what is used of it.
    auto* entries =
        static_cast<std::atomic<uint64_t>*>(std::calloc(kLeafEntries, sizeof(std::atomic<uint64_t>)));
    if (entries == nullptr) return false;
    leaves_[leaf].store(entries, std::memory_order_release);
  }
  return true;
}

}  // namespace plat::core
