// SPDX-License-Identifier: Apache-2.0
// A copy that is held in the middle, for tests of what must wait for it: its source is a page that faults,
// and the handler of the fault waits until the test lets the copy go. One at a time; make it after the first
// ACL call, so that the handler of the test comes before that of the library.
#pragma once

#include <semaphore.h>
#include <signal.h>
#include <sys/mman.h>

#include <cstring>
#include <thread>

#include "acl/acl.h"

namespace plat::test {

// A copy from the host that has begun and waits; let_go() lets it go on, and gives its code.
class HeldCopy {
 public:
  // How the library keeps the memory: a thread that has copied with it before only notes that it uses it; all
  // others are counted.
  enum class Kept { Noted, Counted };

  HeldCopy(void* target, size_t size_bytes, Kept kept) {
    sem_init(&has_begun_, 0, 0);
    sem_init(&may_go_on_, 0, 0);
    page_ = mmap(nullptr, kSourceBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    std::memset(page_, 0xC5, kSourceBytes);
    struct sigaction action {};
    action.sa_handler = hold;
    sigaction(SIGSEGV, &action, &before_);
    thread_ = std::thread([=, this] {
      (void)aclrtSetDevice(0);
      const auto copy = [&] {
        return aclrtMemcpy(target, size_bytes, page_, size_bytes, ACL_MEMCPY_HOST_TO_DEVICE);
      };
      // The first takes memory for the pages, the second makes the thread remember them.
      for (int i = 0; i < (kept == Kept::Noted ? 2 : 0); ++i) (void)copy();
      mprotect(page_, kSourceBytes, PROT_NONE);
      code_ = copy();
    });
    while (sem_wait(&has_begun_) != 0) {
    }
  }
  HeldCopy(const HeldCopy&) = delete;
  HeldCopy& operator=(const HeldCopy&) = delete;
  ~HeldCopy() { let_go(); }

  // Lets the copy go on, and waits for its end.
  aclError let_go() {
    if (!thread_.joinable()) return code_;
    sem_post(&may_go_on_);
    thread_.join();
    sigaction(SIGSEGV, &before_, nullptr);
    munmap(page_, kSourceBytes);
    return code_;
  }

 private:
  static constexpr size_t kSourceBytes = 4096;

  static void hold(int) {
    sem_post(&has_begun_);
    while (sem_wait(&may_go_on_) != 0) {
    }
    mprotect(page_, kSourceBytes, PROT_READ | PROT_WRITE);
  }

  static inline sem_t has_begun_;
  static inline sem_t may_go_on_;
  static inline void* page_ = nullptr;
  struct sigaction before_ {};
  std::thread thread_;
  aclError code_ = -1;
};

}  // namespace plat::test
