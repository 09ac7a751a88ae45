// SPDX-License-Identifier: Apache-2.0
// Scratch<T, N>: an array that lives for one call, on the stack while it is small. For plain types.
#pragma once

#include <array>
#include <cstddef>
#include <memory>

namespace plat::mstx {

template <class T, size_t N>
class Scratch {
 public:
  explicit Scratch(size_t size) : size_(size) {
    if (size > N) heap_ = std::make_unique<T[]>(size);
  }
  T* data() { return heap_ ? heap_.get() : inline_.data(); }
  T& operator[](size_t index) { return data()[index]; }
  size_t size() const { return size_; }
  T* begin() { return data(); }
  T* end() { return data() + size_; }

 private:
  size_t size_;
  std::array<T, N> inline_{};
  std::unique_ptr<T[]> heap_;
};

}  // namespace plat::mstx
