// SPDX-License-Identifier: Apache-2.0
// The buffers of an inference server: one block from the device, cut into tensors for each request.
//
// Tensors keep the rules of secondary allocation: they start at 64 bytes, and own their length rounded up to
// 32 and 32 bytes more, because operators may touch that much.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <map>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "acl/acl.h"

#define CHECK_ACL(call)                                                                   \
  do {                                                                                    \
    const aclError code_ = (call);                                                        \
    if (code_ != ACL_SUCCESS) {                                                           \
      std::fprintf(stderr, "[ERROR] %s:%d %s: %d %s\n", __FILE__, __LINE__, #call, code_, \
                   aclGetRecentErrMsg());                                                 \
      std::exit(1);                                                                       \
    }                                                                                     \
  } while (0)

namespace {

size_t align_up(size_t value, size_t to) { return (value + to - 1) / to * to; }

// First fit over one block; neighbours that are free become one.
class BufferManager {
 public:
  explicit BufferManager(size_t size) : size_(size) {
    CHECK_ACL(aclrtMalloc(&base_, size, ACL_MEM_MALLOC_HUGE_FIRST));
    free_[0] = size;
  }
  ~BufferManager() { CHECK_ACL(aclrtFree(base_)); }
  BufferManager(const BufferManager&) = delete;

  void* allocate(size_t length) {
    const size_t stride = align_up(align_up(length, 32) + 32, 64);
    for (auto it = free_.begin(); it != free_.end(); ++it) {
      if (it->second < stride) continue;
      const size_t at = it->first, left = it->second - stride;
      free_.erase(it);
      if (left > 0) free_[at + stride] = left;
      used_[at] = stride;
      return static_cast<char*>(base_) + at;
    }
    throw std::runtime_error("the block is full");
  }

  void release(void* tensor) {
    const auto used = used_.find(static_cast<size_t>(static_cast<char*>(tensor) - static_cast<char*>(base_)));
    if (used == used_.end()) throw std::runtime_error("not a tensor");
    auto it = free_.insert(*used).first;
    used_.erase(used);
    const auto next = std::next(it);
    if (next != free_.end() && it->first + it->second == next->first) {
      it->second += next->second;
      free_.erase(next);
    }
    if (it == free_.begin()) return;
    const auto before = std::prev(it);
    if (before->first + before->second != it->first) return;
    before->second += it->second;
    free_.erase(it);
  }

  bool is_whole() const { return used_.empty() && free_.size() == 1 && free_.begin()->second == size_; }

 private:
  void* base_ = nullptr;
  size_t size_;
  std::map<size_t, size_t> free_, used_;  // start and size
};

struct Request {
  std::vector<uint8_t> input, output;
  void* device_input;
  void* device_output;
};

}  // namespace

int main() {
  CHECK_ACL(aclInit(nullptr));
  CHECK_ACL(aclrtSetDevice(0));
  aclrtStream stream = nullptr;
  CHECK_ACL(aclrtCreateStream(&stream));
  size_t before = 0, after = 0, total = 0;
  CHECK_ACL(aclrtGetMemInfo(ACL_HBM_MEM, &before, &total));
  size_t served = 0;
  {
    BufferManager buffers(16 << 20);
    std::vector<Request> running;
    const auto finish = [&](size_t index) {
      Request request = std::move(running[index]);
      running.erase(running.begin() + static_cast<std::ptrdiff_t>(index));
      CHECK_ACL(aclrtMemcpy(request.output.data(), request.output.size(), request.device_output,
                            request.output.size(), ACL_MEMCPY_DEVICE_TO_HOST));
      if (request.input != request.output) {
        std::fprintf(stderr, "[ERROR] request %zu came back changed\n", served);
        std::exit(1);
      }
      buffers.release(request.device_input);
      buffers.release(request.device_output);
      ++served;
    };
    for (size_t i = 0; i < 200; ++i) {
      Request request;
      request.input.resize(1 + i * 7919 % 300000);
      std::iota(request.input.begin(), request.input.end(), static_cast<uint8_t>(i));
      const size_t length = request.input.size();
      request.output.resize(length);
      request.device_input = buffers.allocate(length);
      request.device_output = buffers.allocate(length);
      CHECK_ACL(
          aclrtMemcpy(request.device_input, length, request.input.data(), length, ACL_MEMCPY_HOST_TO_DEVICE));
      // The model: the identity.
      CHECK_ACL(aclrtMemcpyAsync(request.device_output, length, request.device_input, length,
                                 ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
      running.push_back(std::move(request));
      if (running.size() < 8) continue;
      CHECK_ACL(aclrtSynchronizeStream(stream));
      finish(i * 31 % running.size());  // requests end in another order than they came
    }
    CHECK_ACL(aclrtSynchronizeStream(stream));
    while (!running.empty()) finish(running.size() - 1);
    if (!buffers.is_whole()) {
      std::fprintf(stderr, "[ERROR] buffers are missing\n");
      return 1;
    }
  }
  CHECK_ACL(aclrtGetMemInfo(ACL_HBM_MEM, &after, &total));
  if (before != after) {
    std::fprintf(stderr, "[ERROR] %zu bytes of the device are missing\n", before - after);
    return 1;
  }
  CHECK_ACL(aclrtDestroyStream(stream));
  CHECK_ACL(aclrtResetDevice(0));
  CHECK_ACL(aclFinalize());
  std::printf("%zu requests served from one block, every byte as it was sent\n", served);
  return 0;
}
