// ItemList<T>: a queue that is taken over whole. It grows by small blocks, so that a burst never moves what
// is queued.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <utility>

namespace plat::stream {

template <class T>
class ItemList {
 public:
  ItemList() = default;
  ItemList(const ItemList&) = delete;
  ItemList& operator=(const ItemList&) = delete;
  ~ItemList() {
    clear();
    delete spare_;
  }

  bool empty() const { return head_ == nullptr; }
  T& front() { return head_->items[first_]; }

  void push(T&& item) {
    if (!tail_ || tail_->count == kBlockItems) {
      Block* block = spare_ ? std::exchange(spare_, nullptr) : new Block;
      (tail_ ? tail_->next : head_) = block;
      tail_ = block;
    }
    tail_->items[tail_->count++] = std::move(item);
  }

  void pop() {
    head_->items[first_] = T{};
    if (++first_ == head_->count) drop_head();
  }

  // All that the other list holds; this one must be empty. The other gets a block back that it will want
  // again.
  void take(ItemList& other) {
    head_ = std::exchange(other.head_, nullptr);
    tail_ = std::exchange(other.tail_, nullptr);
    first_ = std::exchange(other.first_, 0);
    if (!other.spare_) std::swap(spare_, other.spare_);
  }

  void clear() {
    while (head_) drop_head();
  }

 private:
  static constexpr uint32_t kBlockItems = 15;
  struct Block {
    std::array<T, kBlockItems> items;
    uint32_t count = 0;
    Block* next = nullptr;
  };

  void drop_head() {
    Block* done = std::exchange(head_, head_->next);
    if (!head_) tail_ = nullptr;
    first_ = 0;
    if (spare_) {
      delete done;
      return;
    }
    for (uint32_t index = 0; index < done->count; ++index) done->items[index] = T{};
    done->count = 0;
    done->next = nullptr;
    spare_ = done;
  }

  Block* head_ = nullptr;
  Block* tail_ = nullptr;
  Block* spare_ = nullptr;  // empty
  uint32_t first_ = 0;      // of the head block, not yet popped
};

}  // namespace plat::stream
