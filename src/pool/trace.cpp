// SPDX-License-Identifier: Apache-2.0
// trace: one line for each allocation and free, in the format that plat replay reads; memory of the host is
// left out, since a replay is about the device. faults: fails chosen allocations.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <mutex>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>

#include "pool/decorator.h"
#include "pool/guarded.h"

namespace plat::pool {

namespace {

class Trace final : public Decorator {
 public:
  Trace(plat_pool* upstream, std::FILE* file) : Decorator(upstream), file_(file) {}
  ~Trace() override { std::fclose(file_); }
  plat_pool_status allocate_otherwise(const Request& request, void** address) override {
    const plat_pool_status status = upstream_->allocate(request, address);
    if (status != PLAT_POOL_OK) return status;
    if (upstream_->on_host(*address)) return status;
    std::lock_guard guard(mutex_);
    blocks_[*address] = {++next_id_, request.bytes, request.stream, {}};
    line('a', next_id_, request.bytes, request.stream);
    return status;
  }
  plat_pool_status release_otherwise(void* address, plat_stream stream) override {
    std::unordered_map<void*, Block>::node_type block;
    {
      // Written before the block can come back to another thread under the same address.
      std::lock_guard guard(mutex_);
      block = blocks_.extract(address);
      if (!block.empty()) line('f', block.mapped().id, 0, stream);
    }
    const plat_pool_status status = upstream_->release(address, stream);
    // Refused: it lives on, as a block of the same size.
    if (!block.empty() && (status == PLAT_POOL_INVALID || status == PLAT_POOL_DEVICE)) {
      std::lock_guard guard(mutex_);
      write_anew(block.mapped());
      blocks_.insert(std::move(block));
    }
    return status;
  }
  plat_pool_status use_on(void* address, plat_stream stream) override {
    const plat_pool_status status = upstream_->use_on(address, stream);
    std::lock_guard guard(mutex_);
    auto block = blocks_.find(address);
    if (block == blocks_.end() || status != PLAT_POOL_OK || stream == nullptr) return status;
    auto& users = block->second.users;
    if (std::find(users.begin(), users.end(), stream) == users.end()) users.push_back(stream);
    line('u', block->second.id, 0, stream);
    return status;
  }
  plat_pool_status forget_stream(plat_stream stream) override {
    const plat_pool_status status = upstream_->forget_stream(stream);
    if (status != PLAT_POOL_OK) return status;
    std::lock_guard guard(mutex_);
    for (auto& [address, block] : blocks_) {
      if (block.stream == stream) block.stream = nullptr;
      std::erase(block.users, stream);
    }
    return status;
  }
  // A block of another size is another block, of the same streams.
  plat_pool_status resize(void* address, uint64_t bytes) override {
    const plat_pool_status status = upstream_->resize(address, bytes);
    std::lock_guard guard(mutex_);
    auto found = blocks_.find(address);
    if (found == blocks_.end() || status != PLAT_POOL_OK) return status;
    Block& block = found->second;
    line('f', block.id, 0, block.stream);
    block.bytes = bytes;
    write_anew(block);
    return status;
  }
  plat_pool_status reset() override {
    std::lock_guard guard(mutex_);
    const plat_pool_status status = upstream_->reset();
    if (status != PLAT_POOL_OK) return status;
    for (const auto& [address, block] : blocks_) line('f', block.id, 0, nullptr);
    blocks_.clear();
    return status;
  }

 private:
  struct Block {
    uint64_t id;
    uint64_t bytes;
    plat_stream stream;
    std::vector<plat_stream> users;  // as noted by use_on
  };
  // Under a number of its own, with the streams that it had.
  void write_anew(Block& block) {
    block.id = ++next_id_;
    line('a', block.id, block.bytes, block.stream);
    for (plat_stream user : block.users) line('u', block.id, 0, user);
  }
  void line(char op, uint64_t id, uint64_t bytes, plat_stream stream) {
    size_t number = 0;  // no stream is 0
    while (stream != nullptr && number < streams_.size() && streams_[number] != stream) ++number;
    if (stream != nullptr && number == streams_.size()) streams_.push_back(stream);
    if (stream != nullptr) ++number;
    const auto time =
        std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - start_)
            .count();
    std::fprintf(file_, "%c,%llu,%llu,%zu,%lld\n", op, static_cast<unsigned long long>(id),
                 static_cast<unsigned long long>(bytes), number, static_cast<long long>(time));
  }
  std::mutex mutex_;
  std::FILE* file_;
  std::unordered_map<void*, Block> blocks_;
  std::vector<plat_stream> streams_;
  uint64_t next_id_ = 0;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

class Faults final : public Decorator {
 public:
  Faults(plat_pool* upstream, uint64_t nth, uint64_t every) : Decorator(upstream), nth_(nth), every_(every) {}
  plat_pool_status allocate_otherwise(const Request& request, void** address) override {
    const uint64_t now = ++count_;
    if (now == nth_ || (every_ != 0 && now > nth_ && (now - nth_) % every_ == 0))
      return report(PLAT_POOL_QUOTA, fmt::format("allocation {} fails because the fault plan says so", now));
    return upstream_->allocate(request, address);
  }

 private:
  const uint64_t nth_;
  const uint64_t every_;
  std::atomic<uint64_t> count_{0};
};

}  // namespace

}  // namespace plat::pool

using namespace plat::pool;

extern "C" plat_pool_status plat_pool_with_trace(plat_pool* upstream, const char* path, plat_pool** pool) {
  if (upstream == nullptr || path == nullptr || pool == nullptr)
    return report(PLAT_POOL_INVALID, "plat_pool_with_trace: an argument is NULL");
  std::FILE* file = std::fopen(path, "a");
  if (file == nullptr)
    return report(PLAT_POOL_INVALID, fmt::format("plat_pool_with_trace: {} cannot be written", path));
  return plat::pool::guarded(*upstream, [&] { return *pool = new Trace(upstream, file), PLAT_POOL_OK; });
}

extern "C" plat_pool_status plat_pool_with_faults(plat_pool* upstream, uint64_t nth, uint64_t every,
                                                  plat_pool** pool) {
  if (upstream == nullptr || pool == nullptr)
    return report(PLAT_POOL_INVALID, "plat_pool_with_faults: an argument is NULL");
  return plat::pool::guarded(*upstream,
                             [&] { return *pool = new Faults(upstream, nth, every), PLAT_POOL_OK; });
}
