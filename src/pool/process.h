// SPDX-License-Identifier: Apache-2.0
// Which process this is. A forked child inherits every pool and owns none: the locks may be held by threads
// that it does not have, and the memory is its parent's. Whatever lives longer than a call carries the stamp
// of the process that made it, and is refused elsewhere.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace plat::pool {

// Another number in every process, never 0.
uint64_t process_number();
// Where the number stands: in a page that the system clears in a child, however that was made.
const std::atomic<uint64_t>& process_word();

class ProcessStamp {
 public:
  // One load and a comparison. Relaxed: the number was there before the stamp was, and whoever has the stamp
  // reads it, or the 0 of a child, whose memory is what its parent's was when it began. Nothing else is shown
  // by the number.
  bool is_here() const { return word_->load(std::memory_order_relaxed) == number_; }

 private:
  const uint64_t number_ = process_number();
  const std::atomic<uint64_t>* word_ = &process_word();
};

// One T in each process, made when first asked for and never destroyed: threads and frameworks may outlive
// static objects. A child leaves its parent's alone, which may be locked for ever.
template <class T>
T& of_this_process() {
  struct Owned {
    explicit Owned(uint64_t number) : process(number) {}
    uint64_t process;
    T value{};
  };
  static std::atomic<Owned*> current{nullptr};
  const uint64_t here = process_number();
  Owned* seen = current.load(std::memory_order_acquire);
  while (seen == nullptr || seen->process != here) {
    auto fresh = std::make_unique<Owned>(here);
    if (current.compare_exchange_strong(seen, fresh.get(), std::memory_order_acq_rel)) seen = fresh.release();
  }
  return seen->value;
}

}  // namespace plat::pool
