// SPDX-License-Identifier: Apache-2.0
#include "malloc/allocator_registry.h"

#include "rules/rules.h"

namespace plat::malloc {

namespace {
constexpr uint64_t kAllocatorTag = uint64_t{0x41} << 52;  // above the 48 bits of an address
}

uint64_t AllocatorRegistry::create() {
  const std::lock_guard lock(mutex_);
  const uint64_t handle = kAllocatorTag | next_handle_++;
  descriptions_.emplace(handle, AllocatorDescription{});
  return handle;
}

Result<AllocatorDescription*> AllocatorRegistry::find(uint64_t handle) {
  const auto found = descriptions_.find(handle);
  if (found != descriptions_.end()) return &found->second;
  return fail(RuleId::AllocatorDescription, "allocatorDesc", "{:#x} is no description", handle);
}

Result<> AllocatorRegistry::destroy(uint64_t handle) {
  const std::lock_guard lock(mutex_);
  PLAT_TRY(find(handle));
  descriptions_.erase(handle);
  return {};
}

Result<> AllocatorRegistry::add(uint64_t stream, uint64_t handle) {
  const std::lock_guard lock(mutex_);
  PLAT_ASSIGN(description, find(handle));
  const char* missing = description->object == nullptr     ? "the object"
                        : description->allocate == nullptr ? "the callback that allocates"
                        : description->free == nullptr     ? "the callback that frees"
                        : description->address == nullptr  ? "the callback that tells an address"
                                                           : nullptr;
  if (missing != nullptr)
    return fail(RuleId::AllocatorDescription, "allocatorDesc", "{} is missing", missing);
  registered_[stream] = {handle, *description};
  return {};
}

void AllocatorRegistry::remove(uint64_t stream) {
  const std::lock_guard lock(mutex_);
  registered_.erase(stream);
}

std::optional<AllocatorRegistry::Registered> AllocatorRegistry::of_stream(uint64_t stream) const {
  const std::lock_guard lock(mutex_);
  const auto found = registered_.find(stream);
  return found == registered_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace plat::malloc
