// SPDX-License-Identifier: Apache-2.0
// An array that grows without moving: an element's address is good for ever, and reading needs no lock.
//
// Elements are made on first use of their index and never destroyed, so a reader that holds a stale index
// reads an element that has been given to somebody else, never freed memory; it must check what it finds.
// A chunk is shown with release and found with acquire (tests/model/pin_test.cpp); only the destructor, which
// nobody may run beside, reads relaxed.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

namespace plat::core {

template <class T, uint32_t kChunkSize = 1024, uint32_t kMaxChunks = 16384>
class StableArray {
 public:
  static constexpr uint32_t kCapacity = kChunkSize * kMaxChunks;

  StableArray() = default;
  StableArray(const StableArray&) = delete;
  StableArray& operator=(const StableArray&) = delete;
  ~StableArray() {
    for (auto& chunk : chunks_) delete[] chunk.load(std::memory_order_relaxed);
  }

  // Lock-free; nullptr for an index that was never taken.
  T* find(uint32_t index) const {
    if (index >= kCapacity) return nullptr;
    T* chunk = chunks_[index / kChunkSize].load(std::memory_order_acquire);
    return chunk ? chunk + index % kChunkSize : nullptr;
  }

  // Lock-free, of an index that was taken.
  T& at(uint32_t index) const {
    return chunks_[index / kChunkSize].load(std::memory_order_acquire)[index % kChunkSize];
  }

  // Writers are serialised by the caller. kCapacity when the array is full; throws where there is no memory.
  uint32_t take() {
    if (!free_.empty()) {
      const uint32_t index = free_.back();
      free_.pop_back();
      return index;
    }
    if (size_ == kCapacity) return kCapacity;
    if (size_ % kChunkSize == 0) {
      free_.reserve(size_ + kChunkSize);  // so that later give_back cannot fail
      chunks_[size_ / kChunkSize].store(new T[kChunkSize], std::memory_order_release);
    }
    return size_++;
  }
  void give_back(uint32_t index) { free_.push_back(index); }

  // One past the highest index ever taken.
  uint32_t size() const { return size_; }
  uint32_t live() const { return size_ - static_cast<uint32_t>(free_.size()); }

 private:
  std::array<std::atomic<T*>, kMaxChunks> chunks_{};
  std::vector<uint32_t> free_;
  uint32_t size_ = 0;
};

}  // namespace plat::core
