// SPDX-License-Identifier: Apache-2.0
// Mbufs: buffers that queues hand on, of programs that run on the device itself, where host memory and device
// memory are one. A handle is a number that is never given twice.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/result.h"
#include "malloc/host_heap.h"

namespace plat::malloc {

inline constexpr uint64_t kLargestMbuf = uint64_t{4} << 30;
inline constexpr size_t kMbufUserBytes = 96;

class Mbufs {
 public:
  using Handle = uint64_t;

  explicit Mbufs(HostHeap& hosts) : hosts_(hosts) {}

  Result<Handle> allocate(uint64_t size_bytes);
  // With all of the chain it is the head of. Fails while a copy uses the memory; then what is left stays.
  Result<> free(Handle buffer);
  void free_all();

  struct Data {
    void* start;
    uint64_t size_bytes;
  };
  Result<Data> data(Handle buffer) const;
  Result<> set_length(Handle buffer, uint64_t length);
  Result<uint64_t> length(Handle buffer) const;
  // The user's bytes from `offset` on; the caller has checked that they are there.
  Result<> read_user(Handle buffer, std::span<std::byte> out, size_t offset) const;
  Result<> write_user(Handle buffer, std::span<const std::byte> in, size_t offset);

  Result<Handle> copy_reference(Handle buffer);
  Result<> append(Handle head, Handle buffer);
  // The buffers of a chain, its head first.
  Result<std::vector<Handle>> chain(Handle head) const;

 private:
  struct Memory {
    Data data;
    uint32_t references = 1;
  };
  struct Buffer {
    std::shared_ptr<Memory> memory;
    uint64_t length = 0;
    std::array<std::byte, kMbufUserBytes> user{};
    std::vector<Handle> followers;  // of a head
    Handle head = 0;                // of a follower
  };
  using Buffers = std::map<Handle, Buffer>;

  Result<const Buffer*> find(Handle buffer, const char* parameter) const;
  Result<Buffer*> find(Handle buffer, const char* parameter);
  Result<> drop(Handle buffer);
  Handle add(Buffer buffer);

  HostHeap& hosts_;
  mutable std::mutex mutex_;  // guards what follows; before that of the host's heap
  Buffers buffers_;
  Handle newest_ = 0;
};

}  // namespace plat::malloc
