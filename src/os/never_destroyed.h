// SPDX-License-Identifier: Apache-2.0
// NeverDestroyed: an object that is made at its first use and never destroyed, because threads call in after
// main. A forked child takes a new one: another thread of the parent may have held a lock of the old.
#pragma once

#include <atomic>

namespace plat::os {

template <class T>
class NeverDestroyed {
 public:
  constexpr NeverDestroyed() = default;

  T& get() {
    T* known = object_.load(std::memory_order_acquire);
    if (known != nullptr) return *known;
    auto* const made = new T;
    if (object_.compare_exchange_strong(known, made, std::memory_order_acq_rel)) return *made;
    delete made;
    return *known;
  }
  // In a forked child. The old one stays where it is.
  T& renew() {
    auto* const made = new T;
    object_.store(made, std::memory_order_release);
    return *made;
  }

 private:
  std::atomic<T*> object_{nullptr};
};

}  // namespace plat::os
