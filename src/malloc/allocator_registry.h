// SPDX-License-Identifier: Apache-2.0
// AllocatorRegistry: allocators of the client's own, one to a stream.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

#include "acl/acl_rt_allocator.h"
#include "base/result.h"

namespace plat::malloc {

struct AllocatorDescription {
  aclrtAllocator object = nullptr;
  aclrtAllocatorAllocFunc allocate = nullptr;
  aclrtAllocatorFreeFunc free = nullptr;
  aclrtAllocatorAllocAdviseFunc allocate_near = nullptr;  // optional
  aclrtAllocatorGetAddrFromBlockFunc address = nullptr;
};

class AllocatorRegistry {
 public:
  // Descriptions, by handle.
  uint64_t create();
  Result<> destroy(uint64_t handle);
  // Changes a description: change(AllocatorDescription&).
  template <class Change>
  Result<> edit(uint64_t handle, const Change& change) {
    const std::lock_guard lock(mutex_);
    PLAT_ASSIGN(description, find(handle));
    change(*description);
    return {};
  }

  // The description is copied: it may change or go afterwards.
  Result<> add(uint64_t stream, uint64_t handle);
  void remove(uint64_t stream);
  struct Registered {
    uint64_t handle = 0;
    AllocatorDescription description;
  };
  std::optional<Registered> of_stream(uint64_t stream) const;

 private:
  Result<AllocatorDescription*> find(uint64_t handle);

  mutable std::mutex mutex_;  // guards everything below; a leaf
  std::map<uint64_t, AllocatorDescription> descriptions_;
  std::map<uint64_t, Registered> registered_;  // by stream
  uint64_t next_handle_ = 1;
};

}  // namespace plat::malloc
