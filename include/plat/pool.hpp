// SPDX-License-Identifier: Apache-2.0
// The pool in C++17: owners that give back, buffers of a type, and a memory resource. Header only, over
// plat/pool.h.
#pragma once

#include <plat/pool.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <memory_resource>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace plat {

// What a failed call throws: the status, and the sentence that explains it.
class PoolError : public std::runtime_error {
 public:
  explicit PoolError(plat_pool_status status) : std::runtime_error(plat_pool_last_error()), status_(status) {}
  plat_pool_status status() const noexcept { return status_; }

 private:
  plat_pool_status status_;
};

inline void check(plat_pool_status status) {
  if (status != PLAT_POOL_OK) throw PoolError(status);
}

// Gives a block back to the pool it came from, on the stream it was last used on.
struct BlockDeleter {
  plat_pool* pool = nullptr;
  plat_stream stream = nullptr;
  void operator()(void* address) const noexcept { plat_pool_free_on(pool, address, stream); }
};
using Block = std::unique_ptr<void, BlockDeleter>;

// What a block shall be like, beside its size.
struct BlockOptions {
  std::size_t alignment = 0;  // 0: what the purpose needs
  plat_stream stream = nullptr;
  plat_pool_purpose purpose = PLAT_POOL_COMPUTE;
  std::uint16_t tag = 0;
};

class DevicePool {
 public:
  explicit DevicePool(const plat_pool_options& options) { check(plat_pool_create(&options, &pool_)); }
  // Takes over a pool made elsewhere, for example a decorator.
  explicit DevicePool(plat_pool* pool) noexcept : pool_(pool) {}
  DevicePool(DevicePool&& other) noexcept : pool_(std::exchange(other.pool_, nullptr)) {}
  DevicePool& operator=(DevicePool&& other) noexcept {
    std::swap(pool_, other.pool_);
    return *this;
  }
  ~DevicePool() { plat_pool_destroy(pool_); }

  static plat_pool_options options() {
    plat_pool_options options;
    plat_pool_options_init(&options);
    return options;
  }

  void* allocate(std::size_t bytes) {
    void* address = nullptr;
    check(plat_pool_alloc(pool_, bytes, &address));
    return address;
  }
  void* allocate(std::size_t bytes, plat_stream stream) {
    void* address = nullptr;
    check(plat_pool_alloc_on(pool_, bytes, stream, &address));
    return address;
  }
  // Pinned host memory, cached or media memory of the same pool.
  void* allocate(std::size_t bytes, plat_pool_purpose purpose) {
    void* address = nullptr;
    check(plat_pool_alloc_for(pool_, bytes, purpose, &address));
    return address;
  }
  void* allocate(const plat_pool_request& request) {
    void* address = nullptr;
    check(plat_pool_alloc_request(pool_, &request, &address));
    return address;
  }
  void* allocate(std::size_t bytes, const BlockOptions& like) {
    plat_pool_request request{};
    request.bytes = bytes;
    request.alignment = like.alignment;
    request.stream = like.stream;
    request.purpose = like.purpose;
    request.tag = like.tag;
    return allocate(request);
  }
  void* allocate_aligned(std::size_t bytes, std::size_t alignment) {
    void* address = nullptr;
    check(plat_pool_alloc_aligned(pool_, bytes, alignment, &address));
    return address;
  }
  void* allocate_tagged(std::size_t bytes, std::uint16_t tag) {
    void* address = nullptr;
    check(plat_pool_alloc_tagged(pool_, bytes, tag, &address));
    return address;
  }
  void free(void* address) { check(plat_pool_free(pool_, address)); }
  void free(void* address, plat_stream stream) { check(plat_pool_free_on(pool_, address, stream)); }
  // Another stream than the block's uses it too.
  void use_on(void* address, plat_stream stream) { check(plat_pool_use_on(pool_, address, stream)); }
  void forget_stream(plat_stream stream) { check(plat_pool_forget_stream(pool_, stream)); }
  // False, and nothing changed, when it cannot have that size where it stands.
  bool resize(void* address, std::size_t bytes) {
    const plat_pool_status status = plat_pool_resize(pool_, address, bytes);
    if (status != PLAT_POOL_NO_MEMORY) check(status);
    return status == PLAT_POOL_OK;
  }
  std::size_t usable(const void* address) const {
    std::uint64_t bytes = 0;
    check(plat_pool_usable(pool_, address, &bytes, nullptr));
    return bytes;
  }
  Block block(std::size_t bytes, plat_stream stream = nullptr) {
    return Block(allocate(bytes, stream), BlockDeleter{pool_, stream});
  }
  Block block(std::size_t bytes, plat_pool_purpose purpose) {
    return Block(allocate(bytes, purpose), BlockDeleter{pool_, nullptr});
  }
  Block block(std::size_t bytes, const BlockOptions& like) {
    return Block(allocate(bytes, like), BlockDeleter{pool_, like.stream});
  }
  // The live block that an address lies in; throws when there is none.
  plat_pool_block owner(const void* address) const {
    plat_pool_block block{};
    check(plat_pool_owner(pool_, address, &block));
    return block;
  }
  // All live blocks, in order of addresses.
  std::vector<plat_pool_block> blocks() const {
    std::vector<plat_pool_block> all;
    const auto add = [](void* user, const plat_pool_block* block) {
      static_cast<std::vector<plat_pool_block>*>(user)->push_back(*block);
      return 1;
    };
    check(plat_pool_walk(pool_, add, &all));
    return all;
  }
  // What the pool holds now, as PyTorch's memory snapshot.
  void snapshot(const std::string& path) const { check(plat_pool_snapshot(pool_, path.c_str())); }
  void set_limits(std::size_t limit_bytes, std::size_t host_limit_bytes = 0) {
    check(plat_pool_set_limits(pool_, limit_bytes, host_limit_bytes));
  }
  void reset_peaks() { check(plat_pool_reset_peaks(pool_)); }
  plat_pool_stats stats() const {
    plat_pool_stats stats;
    check(plat_pool_get_stats(pool_, &stats));
    return stats;
  }
  void trim(std::size_t keep_bytes = 0) { check(plat_pool_trim(pool_, keep_bytes)); }
  void reset() { check(plat_pool_reset(pool_)); }
  void flush_thread() { check(plat_pool_flush_thread(pool_)); }
  void sleep(std::uint16_t tag = PLAT_POOL_ALL_TAGS, bool save = false) {
    check(plat_pool_sleep(pool_, tag, save ? 1 : 0));
  }
  void wake(std::uint16_t tag = PLAT_POOL_ALL_TAGS) { check(plat_pool_wake(pool_, tag)); }
  plat_pool* get() const noexcept { return pool_; }

 private:
  plat_pool* pool_ = nullptr;
};

// `count` values of a type in device memory. The host must not follow data(); it is what kernels and copies
// are given. With PLAT_POOL_HOST they are in pinned host memory, and it may.
template <class T>
class Buffer {
 public:
  Buffer() = default;
  Buffer(DevicePool& pool, std::size_t count, plat_stream stream = nullptr)
      : block_(pool.block(bytes_of(count), stream)), count_(count) {}
  Buffer(DevicePool& pool, std::size_t count, plat_pool_purpose purpose)
      : block_(pool.block(bytes_of(count), purpose)), count_(count) {}
  Buffer(DevicePool& pool, std::size_t count, const BlockOptions& like)
      : block_(pool.block(bytes_of(count), like)), count_(count) {}
  Buffer(Buffer&& other) noexcept : block_(std::move(other.block_)), count_(std::exchange(other.count_, 0)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    block_ = std::move(other.block_);
    count_ = std::exchange(other.count_, 0);
    return *this;
  }
  T* data() const noexcept { return static_cast<T*>(block_.get()); }
  std::size_t size() const noexcept { return count_; }
  std::size_t size_bytes() const noexcept { return count_ * sizeof(T); }
  explicit operator bool() const noexcept { return block_ != nullptr; }

 private:
  static std::size_t bytes_of(std::size_t count) {
    if (count > SIZE_MAX / sizeof(T)) throw std::bad_array_new_length();
    return count * sizeof(T);
  }
  Block block_;
  std::size_t count_ = 0;
};

// Blocks that are taken and given back in one call each, all of them or none. Tools hear of them at once.
class Batch {
 public:
  Batch() = default;
  Batch(DevicePool& pool, const std::vector<std::uint64_t>& bytes, plat_stream stream = nullptr)
      : pool_(pool.get()), stream_(stream), addresses_(bytes.size()) {
    const plat_pool_status status =
        plat_pool_alloc_batch(pool_, bytes.data(), bytes.size(), stream, addresses_.data());
    if (status != PLAT_POOL_OK) throw PoolError(status);
  }
  Batch(Batch&& other) noexcept
      : pool_(other.pool_),
        stream_(other.stream_),
        addresses_(std::exchange(other.addresses_, std::vector<void*>())) {}
  Batch& operator=(Batch&& other) noexcept {
    std::swap(pool_, other.pool_);
    std::swap(stream_, other.stream_);
    std::swap(addresses_, other.addresses_);
    return *this;
  }
  ~Batch() {
    if (!addresses_.empty()) plat_pool_free_batch(pool_, addresses_.data(), addresses_.size(), stream_);
  }
  void* operator[](std::size_t index) const noexcept { return addresses_[index]; }
  std::size_t size() const noexcept { return addresses_.size(); }
  std::vector<void*>::const_iterator begin() const noexcept { return addresses_.begin(); }
  std::vector<void*>::const_iterator end() const noexcept { return addresses_.end(); }

 private:
  plat_pool* pool_ = nullptr;
  plat_stream stream_ = nullptr;
  std::vector<void*> addresses_;
};

// Blocks that end together, with their arena or at its reset.
class Arena {
 public:
  explicit Arena(DevicePool& pool, std::size_t chunk_bytes = 0) {
    check(plat_arena_create(pool.get(), chunk_bytes, &arena_));
  }
  // Inside another; it must end before that one does.
  explicit Arena(Arena& outer, std::size_t chunk_bytes = 0) {
    check(plat_arena_nest(outer.arena_, chunk_bytes, &arena_));
  }
  Arena(Arena&& other) noexcept : arena_(std::exchange(other.arena_, nullptr)) {}
  Arena& operator=(Arena&& other) noexcept {
    std::swap(arena_, other.arena_);
    return *this;
  }
  ~Arena() { plat_arena_destroy(arena_); }
  void* allocate(std::size_t bytes, std::size_t alignment = 0) {
    void* address = nullptr;
    check(plat_arena_alloc(arena_, bytes, alignment, &address));
    return address;
  }
  void reset() { check(plat_arena_reset(arena_)); }
  plat_arena* get() const noexcept { return arena_; }

 private:
  plat_arena* arena_ = nullptr;
};

// Addresses for the longest sequence, memory for the tokens there are.
class KvCache {
 public:
  KvCache(DevicePool& pool, std::size_t token_bytes, std::size_t max_tokens) {
    check(plat_kv_create(pool.get(), token_bytes, max_tokens, &cache_));
  }
  KvCache(KvCache&& other) noexcept : cache_(std::exchange(other.cache_, nullptr)) {}
  KvCache& operator=(KvCache&& other) noexcept {
    std::swap(cache_, other.cache_);
    return *this;
  }
  ~KvCache() { plat_kv_destroy(cache_); }
  void set_tokens(std::size_t tokens) { check(plat_kv_set_tokens(cache_, tokens)); }
  void* data() const noexcept { return plat_kv_base(cache_); }
  std::size_t backed_bytes() const noexcept { return plat_kv_backed_bytes(cache_); }

 private:
  plat_kv_cache* cache_ = nullptr;
};

// For containers in pinned host memory, of any pool. Containers write to what they get, so device memory is
// not for them.
class PoolResource final : public std::pmr::memory_resource {
 public:
  explicit PoolResource(plat_pool* pool) noexcept : pool_(pool) {}

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    void* address = nullptr;
    plat_pool_request request{};
    request.bytes = bytes == 0 ? 1 : bytes;
    request.alignment = alignment;
    request.purpose = PLAT_POOL_HOST;
    const auto status = plat_pool_alloc_request(pool_, &request, &address);
    if (status != PLAT_POOL_OK) throw std::bad_alloc();
    return address;
  }
  void do_deallocate(void* address, std::size_t, std::size_t) override { plat_pool_free(pool_, address); }
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
    const auto* same = dynamic_cast<const PoolResource*>(&other);
    return same != nullptr && same->pool_ == pool_;
  }
  plat_pool* pool_;
};

}  // namespace plat
