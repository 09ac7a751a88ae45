// SPDX-License-Identifier: Apache-2.0
#include "malloc/host_use.h"

#include <algorithm>
#include <new>
#include <utility>

#include "os/barrier.h"

namespace plat::malloc {

constinit thread_local HostUse::Notes* HostUse::own_ = nullptr;
constinit std::atomic<HostUse::Notes*> HostUse::first_{nullptr};

namespace {

constexpr uint64_t kNobody = 0;
constexpr uint64_t kSeveral = 0xFFFF;
constexpr unsigned kWhoBits = 16;

std::atomic<uint32_t> g_count{0};
constinit thread_local bool t_ended = false;

}  // namespace

struct HostUseEnd {
  ~HostUseEnd() {
    t_ended = true;
    std::exchange(HostUse::own_, nullptr)->claimed.store(false, std::memory_order_release);
  }
};

// A thread takes one at its first copy and leaves it to another when it ends.
HostUse::Notes* HostUse::claim() {
  if (t_ended || !os::has_process_barrier()) return nullptr;
  Notes* own = first_.load(std::memory_order_acquire);
  for (; own != nullptr; own = own->next)
    if (!own->claimed.load(std::memory_order_relaxed) &&
        !own->claimed.exchange(true, std::memory_order_acquire))
      break;
  if (own == nullptr) {
    own = new (std::nothrow) Notes;
    if (own == nullptr) return nullptr;
    own->number = static_cast<uint16_t>(std::min<uint64_t>(g_count.fetch_add(1) + 1, kSeveral));
    own->next = first_.load(std::memory_order_relaxed);
    while (!first_.compare_exchange_weak(own->next, own, std::memory_order_acq_rel)) {
    }
  }
  thread_local HostUseEnd end;
  (void)end;
  own_ = own;
  return own;
}

void HostUse::take(uint64_t heap, HostBlock& block, Va va, Side side) {
  if (note_ != nullptr) std::exchange(note_, nullptr)->store(nullptr, std::memory_order_release);
  Notes* own = own_ != nullptr ? own_ : claim();
  if (own == nullptr) {
    block.users.fetch_add(1, std::memory_order_acquire);
    counted_ = &block;
    return;
  }
  uint64_t life = block.life.load(std::memory_order_relaxed);
  while ((life & kSeveral) != own->number && (life & kSeveral) != kSeveral) {
    const uint64_t who = (life & kSeveral) == kNobody ? own->number : kSeveral;
    const uint64_t shared = life >> kWhoBits << kWhoBits | who;
    if (block.life.compare_exchange_weak(life, shared, std::memory_order_relaxed)) life = shared;
  }
  own->known[slot_of(va)] = {heap, block.start, block.size_bytes, &block, life};
  note(own->used[side], &block);
}

bool HostUse::is_used(HostBlock& block) {
  if (block.users.load(std::memory_order_acquire) != 0) return true;
  const uint64_t life = block.life.load(std::memory_order_relaxed);
  const uint64_t who = life & kSeveral;
  // A new life, which nobody remembers. Until it is known that nobody is inside, the next look must look
  // again.
  const uint64_t next = ((life >> kWhoBits) + 1) << kWhoBits;
  const bool mine = own_ != nullptr && who == own_->number && who != kSeveral;  // this thread, and it is here
  if (who != kNobody && !mine) {
    block.life.store(next | kSeveral, std::memory_order_relaxed);
    if (!os::process_barrier()) return true;  // without it nothing is certain
    for (const Notes* at = first_.load(std::memory_order_acquire); at != nullptr; at = at->next)
      for (const auto& used : at->used)
        if (used.load(std::memory_order_acquire) == &block) return true;
  }
  block.life.store(next, std::memory_order_relaxed);
  return false;
}

}  // namespace plat::malloc
