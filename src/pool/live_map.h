// LiveMap: which small blocks of a space are handed out, so that a free of anything else is noticed: a second
// free, an address inside a block, a block that a thread cache holds. A mark stands at the start of each live
// block. It is a byte of its own, so that setting and clearing it need no locked instruction: one for each
// 512 bytes where blocks are that long, one for each 64 where they are not.
//
// Made page by page as spans come; pages that hold none cost nothing. prepare() and forget() need the lock of
// the zone, the rest none.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <new>

#include "pool/size_class.h"
#include "pool/source.h"

namespace plat::pool {

class LiveMap {
 public:
  explicit LiveMap(uint64_t bytes) : pages_(std::make_unique<Page[]>(bytes / kPageBytes + 1)) {}
  LiveMap(const LiveMap&) = delete;
  LiveMap& operator=(const LiveMap&) = delete;
  ~LiveMap() {
    for (uint64_t page = 0; made_ != 0; ++page)
      for (std::atomic<Mark*>& marks : pages_[page].marks)
        if (Mark* held = marks.load()) {
          delete[] held;
          --made_;
        }
  }

  // Before a span of a class is used; `offset` is from the start of the space. False when the host has no
  // memory.
  bool prepare(uint64_t offset, uint32_t index) {
    std::atomic<Mark*>& marks = pages_[offset / kPageBytes].marks[is_fine(index)];
    if (marks.load(std::memory_order_relaxed) != nullptr) return true;
    Mark* fresh = new (std::nothrow) Mark[kPageBytes >> shift(index)]();
    if (fresh == nullptr) return false;
    marks.store(fresh, std::memory_order_release);
    ++made_;
    bytes_ += kPageBytes >> shift(index);
    return true;
  }
  void forget(uint64_t offset, uint64_t bytes, uint32_t index) {
    for (uint64_t end = offset + bytes; offset < end; offset += uint64_t{1} << shift(index))
      place(offset, index).store(0, std::memory_order_relaxed);
  }

  using Mark = std::atomic<uint8_t>;
  // The mark of a live block, to be cleared when it goes; null when no live block starts there.
  Mark* find(uint64_t offset, uint32_t index) const {
    if (offset % 64 != 0) return nullptr;
    Mark& mark = place(offset, index);
    return mark.load(std::memory_order_relaxed) == value(offset) ? &mark : nullptr;
  }
  bool live(uint64_t offset, uint32_t index) const { return find(offset, index) != nullptr; }
  void open(uint64_t offset, uint32_t index) {
    place(offset, index).store(value(offset), std::memory_order_relaxed);
  }
  static void close(Mark& mark) { mark.store(0, std::memory_order_relaxed); }
  uint64_t bookkeeping_bytes() const { return bytes_; }

 private:
  struct Page {
    std::atomic<Mark*> marks[2] = {nullptr, nullptr};  // coarse, fine
  };
  static constexpr uint32_t kCoarse = 7;  // the first class whose blocks never share 512 bytes
  static_assert(class_bytes(kCoarse) == 512);
  static bool is_fine(uint32_t index) { return index < kCoarse; }
  static uint32_t shift(uint32_t index) { return is_fine(index) ? 6 : 9; }
  // Where in its 512 bytes the block starts: another start in the same ones is no live block.
  static uint8_t value(uint64_t offset) { return static_cast<uint8_t>(1u << (offset >> 6 & 7)); }
  Mark& place(uint64_t offset, uint32_t index) const {
    Mark* marks = pages_[offset / kPageBytes].marks[is_fine(index)].load(std::memory_order_acquire);
    return marks[(offset % kPageBytes) >> shift(index)];
  }

  std::unique_ptr<Page[]> pages_;
  uint64_t made_ = 0;
  uint64_t bytes_ = 0;
};

}  // namespace plat::pool
