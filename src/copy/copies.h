// SPDX-License-Identifier: Apache-2.0
// Copies: the copy and fill calls: which direction, and whether now or in stream order.
//
// What no state can make right is checked by the caller. A queued copy is checked as a whole when it runs; an
// error then sticks to its stream and names the call that queued it.
#pragma once

#include <span>

#include "acl/acl_rt_copy.h"
#include "copy/mover.h"
#include "malloc/segment.h"
#include "stream/streams.h"

namespace plat::copy {

struct CopyRequest {
  Va target;
  Va source;
  uint64_t size_bytes = 0;
  aclrtMemcpyKind kind = ACL_MEMCPY_DEFAULT;
};

class Copies {
 public:
  Copies(const Mover& mover, const malloc::Locator& locator, const malloc::Segments& segments)
      : mover_(mover), locator_(locator), segments_(segments) {}
  Copies(const Copies&) = delete;
  Copies& operator=(const Copies&) = delete;

  // Where work is queued, and for which device (a physical number).
  struct Queue {
    stream::Streams& streams;
    stream::StreamId stream;
    uint32_t device = 0;

    Result<> give(stream::Task task) const;
    Result<> give_poll(stream::Poll poll) const;
  };

  // To be asked first: between the host and a page that this thread has copied with before. False: it is not
  // that, and nothing was done.
  bool now_again(const CopyRequest& copy, uint32_t device) const {
    return !segments_.are_checked() &&
           mover_.copy_again(copy.target, copy.source, copy.size_bytes, device, claim_of(copy.kind));
  }
  Result<> now(const CopyRequest& copy, uint32_t device) const;
  Result<> queue(const CopyRequest& copy, const Queue& queue) const;
  // The addresses are read from where target and source point when the copy runs.
  struct Indirect {
    Va target;
    uint64_t target_offset = 0;
    Va source;
    uint64_t source_offset = 0;
    uint64_t size_bytes = 0;
  };
  Result<> queue_indirect(const Indirect& copy, const Queue& queue) const;

  Result<> now_2d(const Mover::Area& area, aclrtMemcpyKind kind, uint32_t device) const;
  Result<> queue_2d(const Mover::Area& area, aclrtMemcpyKind kind, const Queue& queue) const;

  // `failed` is the entry at fault, or SIZE_MAX.
  struct Batch {
    std::span<const CopyRequest> entries;
    bool to_device = true;
  };
  Result<> now_batch(const Batch& batch, uint32_t device, size_t& failed) const;
  Result<> queue_batch(const Batch& batch, const Queue& queue, size_t& failed) const;

  // A copy within the device that is described in memory.
  struct Descriptor {
    uint64_t magic = 0;
    uint64_t source = 0;
    uint64_t target = 0;
    uint64_t size_bytes = 0;
    uint64_t reserved[4] = {};
  };
  static constexpr uint64_t kDescriptorMagic = 0x59504F4354414C50;
  Result<> write_descriptor(Va at, Va source, Va target, uint64_t size_bytes, uint32_t device) const;
  Result<> queue_described(Va descriptor, const Queue& queue) const;

  Result<> fill(Va target, uint64_t size_bytes, uint8_t value, uint32_t device) const;
  Result<> queue_fill(Va target, uint64_t size_bytes, uint8_t value, const Queue& queue) const;
  Result<> queue_fill_words(Va target, uint64_t count, uint32_t value, const Queue& queue) const;

 private:
  // What the kind says of the two addresses.
  static Mover::Claim claim_of(aclrtMemcpyKind kind) {
    Mover::Claim claim;
    claim.target_on_device = kind == ACL_MEMCPY_HOST_TO_DEVICE || kind == ACL_MEMCPY_DEVICE_TO_DEVICE ||
                             kind == ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE;
    claim.source_on_device = kind == ACL_MEMCPY_DEVICE_TO_HOST || kind == ACL_MEMCPY_DEVICE_TO_DEVICE;
    return claim;
  }

  enum class Direction : uint8_t { HostToHost, HostToDevice, DeviceToHost, DeviceToDevice };
  struct Resolved {
    Direction direction;
    bool waits;  // ordinary host memory takes part: the call returns when the copy is done
  };
  Result<Resolved> resolve(Va target, Va source, aclrtMemcpyKind kind) const;
  Result<> check_sync_peer(Va target, Va source) const;
  Result<> check_batch_entry(const CopyRequest& copy, bool to_device, size_t index, bool& waits) const;
  Result<> queue_staged(const CopyRequest& copy, const Queue& queue) const;

  const Mover& mover_;
  const malloc::Locator& locator_;
  const malloc::Segments& segments_;
};

}  // namespace plat::copy
