// SPDX-License-Identifier: Apache-2.0
#include "pool/process.h"

#include <pthread.h>
#include <sys/mman.h>

#include <new>

#include "pool/thread_cache.h"

namespace plat::pool {

namespace {

using ForkWord = std::atomic<uint64_t>;
static_assert(ForkWord::is_always_lock_free);

ForkWord* make_fork_word() {
  constexpr size_t kBytes = 4096;
  static ForkWord without_page{0};
  void* const page = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return &without_page;
  ::madvise(page, kBytes, MADV_WIPEONFORK);
  return new (page) ForkWord{0};
}

ForkWord& fork_word() {
  static ForkWord* const made = make_fork_word();
  return *made;
}

// The thread's way to small blocks leads past every check, so it is closed; the number goes where the system
// does not clear it. Relaxed: a child begins with this thread alone.
void begin_child() {
  ready_cache = ReadyCache{};
  fork_word().store(0, std::memory_order_relaxed);
}

}  // namespace

const std::atomic<uint64_t>& process_word() { return fork_word(); }

uint64_t process_number() {
  static const int registered = pthread_atfork(nullptr, nullptr, begin_child);
  static_cast<void>(registered);
  static std::atomic<uint64_t> last{0};  // inherited: a child counts on from there
  // Relaxed: who reads 0 though another thread was faster is told the number when he tries to store his own.
  uint64_t number = fork_word().load(std::memory_order_relaxed);
  if (number != 0) return number;
  const uint64_t fresh = ++last;
  return fork_word().compare_exchange_strong(number, fresh) ? fresh : number;
}

}  // namespace plat::pool
