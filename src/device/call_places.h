// SPDX-License-Identifier: Apache-2.0
// CallPlaces: which call of the API each thread is in, written without a barrier and readable by others, so
// that a snapshot can wait until no thread is inside.
//
// A thread writes its place and then looks whether calls are held up; whoever holds them up says so first,
// then raises a barrier in all threads (os/barrier.h), and then looks at the places. One of the two sees the
// other.
#pragma once

#include <atomic>
#include <functional>

namespace plat::device {

class CallPlaces {
 public:
  // Of one thread. Empty text: it is in none.
  struct Place {
    std::atomic<const char*> function{""};
    bool listed = false;
    Place* next = nullptr;  // in the list of all threads, which needs no memory that could lack
    Place* previous = nullptr;
  };
  static Place& own() {
    if (!own_.listed) [[unlikely]]
      enlist();
    return own_;
  }
  // Without a look at whether others can see it.
  static const char* current() { return own_.function.load(std::memory_order_relaxed); }

  // Under ThreadSanitizer there is no barrier for all threads, so that each call has one.
#if defined(__SANITIZE_THREAD__)
  static constexpr std::memory_order kAnnounce = std::memory_order_seq_cst;
#else
  static constexpr std::memory_order kAnnounce = std::memory_order_relaxed;
#endif

  // Whether `is_met` says yes of a call that another thread is in.
  static bool any_other(const std::function<bool(const char*)>& is_met);
  // In a forked child: the other threads are not there.
  static void forget_others();

 private:
  static void enlist();
  [[gnu::tls_model("initial-exec")]] static constinit thread_local Place own_;
};

}  // namespace plat::device
