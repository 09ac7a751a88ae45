// SPDX-License-Identifier: Apache-2.0
// What an ordinary program does: blocks, copies, streams, events, page-locked memory, mappings. Any call may
// fail, for want of whatever the campaign takes away; but memory that was written holds what was written.
#pragma once

#include <acl/acl.h>

#include <array>
#include <cstring>
#include <random>

namespace plat::soak {

class OrdinaryWork {
 public:
  explicit OrdinaryWork(uint64_t seed) : random_(seed) {}

  static constexpr uint64_t kCallsARound = 12;  // about

  // Whether all that was read is what was written.
  bool run(int rounds) {
    bool all_well = true;
    for (int round = 0; round < rounds && all_well; ++round) {
      Block& block = blocks_[random_() % blocks_.size()];
      all_well = block.start != nullptr ? give_up(block) : take(block);
      use_stream(block);
      use_page_locked_memory();
      use_mapping();
    }
    for (Block& block : blocks_)
      if (block.start != nullptr && !give_up(block)) all_well = false;
    return all_well;
  }

 private:
  struct Block {
    void* start = nullptr;
    bool is_written = false;
    unsigned char value = 0;
  };
  static constexpr size_t kPage = 2 << 20;
  static constexpr size_t kBytes = 4096;

  bool take(Block& block) {
    block = {};
    if (aclrtMalloc(&block.start, kBytes << random_() % 11, ACL_MEM_MALLOC_HUGE_FIRST) != 0) {
      block.start = nullptr;
      return true;
    }
    block.value = static_cast<unsigned char>(random_());
    host_.fill(block.value);
    block.is_written =
        aclrtMemcpy(block.start, kBytes, host_.data(), kBytes, ACL_MEMCPY_HOST_TO_DEVICE) == ACL_SUCCESS;
    return true;
  }

  bool give_up(Block& block) {
    host_.fill(static_cast<unsigned char>(~block.value));
    const bool is_read =
        aclrtMemcpy(host_.data(), kBytes, block.start, kBytes, ACL_MEMCPY_DEVICE_TO_HOST) == ACL_SUCCESS;
    bool all_well = true;
    for (const unsigned char byte : host_)
      if (block.is_written && is_read && byte != block.value) all_well = false;
    (void)aclrtFree(block.start);
    block = {};
    return all_well;
  }

  void use_stream(Block& block) {
    aclrtStream stream = nullptr;
    aclrtEvent event = nullptr;
    if (random_() % 4 != 0 || aclrtCreateStream(&stream) != 0) return;
    const auto value = static_cast<unsigned char>(random_());
    if (block.start != nullptr) {
      block.is_written =
          aclrtMemsetAsync(block.start, kBytes, value, kBytes, stream) == ACL_SUCCESS && block.is_written;
      block.value = value;
    }
    if (aclrtCreateEvent(&event) == 0) {
      (void)aclrtRecordEvent(event, stream);
      (void)aclrtSynchronizeEvent(event);
      (void)aclrtDestroyEvent(event);
    }
    if (aclrtSynchronizeStream(stream) != ACL_SUCCESS) block.is_written = false;
    (void)aclrtDestroyStream(stream);
  }

  static void use_page_locked_memory() {
    void* memory = nullptr;
    if (aclrtMallocHost(&memory, kBytes) != 0) return;
    std::memset(memory, 1, kBytes);
    (void)aclrtFreeHost(memory);
  }

  static void use_mapping() {
    void* address = nullptr;
    if (aclrtReserveMemAddress(&address, kPage, 0, nullptr, 0) != 0) return;
    aclrtPhysicalMemProp prop{};
    prop.memAttr = ACL_HBM_MEM_HUGE;
    prop.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
    aclrtDrvMemHandle handle = nullptr;
    if (aclrtMallocPhysical(&handle, kPage, &prop, 0) == 0) {
      if (aclrtMapMem(address, kPage, 0, handle, 0) == 0) (void)aclrtUnmapMem(address);
      (void)aclrtFreePhysical(handle);
    }
    (void)aclrtReleaseMemAddress(address);
  }

  std::mt19937_64 random_;
  std::array<Block, 8> blocks_{};
  std::array<unsigned char, kBytes> host_{};
};

}  // namespace plat::soak
