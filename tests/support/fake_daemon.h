// SPDX-License-Identifier: Apache-2.0
// A daemon of the fabric that runs in the test itself: it answers imports and copies as it is told, and the
// memory of the other server is a vector. What the library does with its answers needs no second server.
#pragma once

#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <list>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/units.h"
#include "device/node.h"
#include "fabric/message.h"

namespace plat::test {

// The daemon of the fabric, in the test itself.
class FakeDaemon {
 public:
  // Of the node that this process is on.
  FakeDaemon()
      : path_(fabric::socket_path(device::Node::default_directory(), getenv("PLAT_NODE"))), memory_(4 << 20) {
    os::make_private_directory(device::Node::default_directory());
    listener_ = os::listen_at(path_);
    std::thread([this] { serve(); }).detach();
  }
  // Its threads live as long as the process: it is made with new and never freed.
  void leave() const { unlink(path_.c_str()); }
  std::byte byte_at(size_t offset) const {
    const std::lock_guard lock(mutex_);
    return memory_[offset];
  }

  std::atomic<fabric::Cause> on_import{fabric::Cause::None};
  std::atomic<fabric::Cause> on_copy{fabric::Cause::None};
  std::atomic<uint32_t> version{fabric::kWireVersion};
  std::atomic<bool> dies_on_copy{false};
  std::atomic<bool> is_silent{false};
  std::atomic<int> released{0};
  std::atomic<uint64_t> imported_bytes{4 << 20};

 private:
  void serve() {
    for (;;) {
      const int socket = accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC);
      if (socket >= 0) std::thread([this, socket] { serve_one(os::Fd(socket)); }).detach();
    }
  }
  void serve_one(const os::Fd& socket) {
    fabric::Request request;
    std::byte* buffers = nullptr;
    while (fabric::receive(socket.get(), request, -1) == fabric::Received::Message) {
      fabric::Reply reply;
      reply.version = version;
      reply.session = 1;
      reply.buffers = uint32_t{1} << request.buffer;
      os::Fd file;
      const bool copies = request.ask == fabric::Ask::Write || request.ask == fabric::Ask::Read;
      if (request.ask == fabric::Ask::Hello && request.session != 0) {
        file = os::create_memory_file("fake", fabric::kBuffers * fabric::kBufferBytes);
        buffers = static_cast<std::byte*>(mmap(nullptr, fabric::kBuffers * fabric::kBufferBytes,
                                               PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0));
      }
      if (request.ask == fabric::Ask::Import) {
        reply.cause = on_import;
        reply.size_bytes = imported_bytes;
        reply.attribute = ACL_HBM_MEM_HUGE;
        reply.location_type = ACL_MEM_LOCATION_TYPE_DEVICE;
      }
      if (request.ask == fabric::Ask::Release) released += 1;
      if (copies) {
        if (dies_on_copy) return;
        if (is_silent) continue;
        reply.cause = on_copy;
        std::byte* piece = buffers + request.buffer * fabric::kBufferBytes;
        std::byte* there = memory_.data() + request.offset;
        const std::lock_guard lock(mutex_);
        if (reply.cause == fabric::Cause::None && request.ask == fabric::Ask::Write)
          std::memcpy(there, piece, request.size_bytes);
        else if (reply.cause == fabric::Cause::None)
          std::memcpy(piece, there, request.size_bytes);
      }
      fabric::send(socket.get(), reply, reply.cause == fabric::Cause::None ? "" : "so it was told",
                   file.get());
    }
  }

  std::string path_;
  os::Fd listener_;
  mutable std::mutex mutex_;
  std::vector<std::byte> memory_;
};

}  // namespace plat::test
