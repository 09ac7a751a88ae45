// SPDX-License-Identifier: Apache-2.0
// ItemList<T>: a queue that is taken over whole. It grows by small blocks, so that a burst never moves what
// is queued.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

#include "base/relax.h"

namespace plat::stream {

template <class T>
class ItemList {
 public:
  ItemList() = default;
  ItemList(const ItemList&) = delete;
  ItemList& operator=(const ItemList&) = delete;
  ~ItemList() {
    while (!empty()) pop();
    while (spare_) delete take_spare();
  }

  bool empty() const { return head_ == nullptr; }
  T& front() { return *head_->item(first_); }

  template <class Value>
  void push(Value&& value) {
    if (!tail_ || tail_->count == kBlockItems) {
      Block* block = spare_ ? take_spare() : new Block;
      (tail_ ? tail_->next : head_) = block;
      tail_ = block;
    }
    ::new (tail_->item(tail_->count)) T(std::forward<Value>(value));
    // The thread that emptied the block has its lines; the next one is on its way while the caller goes on.
    if (++tail_->count < kBlockItems) will_write(tail_->item(tail_->count));
  }

  void pop() {
    std::destroy_at(head_->item(first_));
    if (++first_ == head_->count) drop_head();
  }

  // All that the other list holds; this one must be empty. The other gets blocks back that it will want
  // again.
  void take(ItemList& other) {
    head_ = std::exchange(other.head_, nullptr);
    tail_ = std::exchange(other.tail_, nullptr);
    first_ = std::exchange(other.first_, 0);
    if (other.spare_) return;
    std::swap(spare_, other.spare_);
    std::swap(spare_count_, other.spare_count_);
  }

 private:
  static constexpr uint32_t kBlockItems = 31;
  static constexpr uint32_t kSparesMax = 64;
  // Items begin on lines of their own.
  struct alignas(64) Block {
    T* item(uint32_t index) { return std::launder(reinterpret_cast<T*>(storage) + index); }

    alignas(T) std::byte storage[kBlockItems * sizeof(T)];
    uint32_t count = 0;
    Block* next = nullptr;
  };

  void drop_head() {
    Block* done = std::exchange(head_, head_->next);
    if (!head_) tail_ = nullptr;
    first_ = 0;
    if (spare_count_ == kSparesMax) {
      delete done;
      return;
    }
    done->count = 0;
    done->next = std::exchange(spare_, done);
    ++spare_count_;
  }

  Block* take_spare() {
    Block* block = std::exchange(spare_, spare_->next);
    block->next = nullptr;
    --spare_count_;
    return block;
  }

  Block* head_ = nullptr;
  Block* tail_ = nullptr;
  Block* spare_ = nullptr;  // empty ones, kept for a burst like the last
  uint32_t first_ = 0;      // of the head block, not yet popped
  uint32_t spare_count_ = 0;
};

}  // namespace plat::stream
