// AddressTable: from a number (an address, a granule) to another, dense in memory: it grows with the entries,
// not with the range they come from, so a thousand blocks stay in the nearest cache wherever they lie. Linear
// probing; deletion closes the gap.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>

namespace plat::core {

class AddressTable {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;

  void insert(uint32_t key, uint32_t value) {
    if ((count_ + 1) * 2 > size_) grow();
    uint32_t slot = home(key);
    while (slots_[slot].value != kNone) slot = (slot + 1) & (size_ - 1);
    slots_[slot] = Slot{key, value};
    ++count_;
  }

  uint32_t find(uint32_t key) const {
    if (size_ == 0) return kNone;
    for (uint32_t slot = home(key);; slot = (slot + 1) & (size_ - 1)) {
      if (slots_[slot].value == kNone) return kNone;
      if (slots_[slot].key == key) return slots_[slot].value;
    }
  }

  // The value that was there; kNone when there was none.
  uint32_t remove(uint32_t key) {
    if (size_ == 0) return kNone;
    uint32_t slot = home(key);
    for (; slots_[slot].value == kNone || slots_[slot].key != key; slot = (slot + 1) & (size_ - 1))
      if (slots_[slot].value == kNone) return kNone;
    const uint32_t value = slots_[slot].value;
    // Entries behind the gap move into it unless that would put them before their home.
    uint32_t gap = slot;
    for (uint32_t next = (gap + 1) & (size_ - 1); slots_[next].value != kNone;
         next = (next + 1) & (size_ - 1)) {
      if (((next - home(slots_[next].key)) & (size_ - 1)) < ((next - gap) & (size_ - 1))) continue;
      slots_[gap] = slots_[next];
      gap = next;
    }
    slots_[gap].value = kNone;
    --count_;
    return value;
  }

  uint32_t count() const { return count_; }
  uint64_t bookkeeping_bytes() const { return uint64_t{size_} * sizeof(Slot); }

 private:
  struct Slot {
    uint32_t key;
    uint32_t value;
  };
  uint32_t home(uint32_t key) const {
    return static_cast<uint32_t>((key * uint64_t{0x9E3779B97F4A7C15}) >> shift_);
  }
  void grow() {
    const uint32_t old_size = size_;
    std::unique_ptr<Slot[]> old = std::move(slots_);
    size_ = old_size == 0 ? 64 : old_size * 2;
    shift_ = old_size == 0 ? 58 : shift_ - 1;
    slots_ = std::make_unique_for_overwrite<Slot[]>(size_);
    std::memset(static_cast<void*>(slots_.get()), 0xFF, size_ * sizeof(Slot));
    count_ = 0;
    for (uint32_t i = 0; i < old_size; ++i)
      if (old[i].value != kNone) insert(old[i].key, old[i].value);
  }
  std::unique_ptr<Slot[]> slots_;
  uint32_t size_ = 0;
  uint32_t count_ = 0;
  uint32_t shift_ = 58;
};

}  // namespace plat::core
