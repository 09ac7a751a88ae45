// SPDX-License-Identifier: Apache-2.0
#include "vmm/shortcuts.h"

#include <algorithm>
#include <new>
#include <utility>

#include "os/barrier.h"

namespace plat::vmm {

constinit thread_local Shortcuts* Shortcuts::own_ = nullptr;

namespace {

// The life of a mapping or a block is a number that grows, and below it who remembers it: nobody, one thread
// by its number, or several. A second thread changes it for the first, who then looks again.
constexpr uint64_t kNobody = 0;
constexpr uint64_t kSeveral = 0xFFFF;
constexpr unsigned kWhoBits = 16;

uint64_t who_of(uint64_t life) { return life & kSeveral; }
uint64_t with(uint64_t life, uint64_t who) { return life >> kWhoBits << kWhoBits | who; }
uint64_t next(uint64_t life) { return ((life >> kWhoBits) + 1) << kWhoBits; }

// Orders of a life: all of its accesses are relaxed. Who remembers it has pinned the mapping (or the block),
// and who ends it has closed that, so these two are ordered by the count of users. Who uses it unpinned is
// ordered by the process barrier. tests/model/shortcuts_test.cpp has the protocol in small, runs it in all
// interleavings, and shows that none of the other orders can be weaker; whoever changes one changes the
// other.

// The life, after the thread was added to those who remember it.
uint64_t remembered(std::atomic<uint64_t>& life_word, uint64_t thread) {
  uint64_t life = life_word.load(std::memory_order_relaxed);
  while (who_of(life) != thread && who_of(life) != kSeveral) {
    const uint64_t shared = with(life, who_of(life) == kNobody ? thread : kSeveral);
    if (life_word.compare_exchange_weak(life, shared, std::memory_order_relaxed)) life = shared;
  }
  return life;
}

std::atomic<Shortcuts*> g_first{nullptr};  // of all threads; none is ever freed
std::atomic<uint32_t> g_count{0};
constinit thread_local bool t_ended = false;

}  // namespace

struct ShortcutsEnd {
  ~ShortcutsEnd() {
    t_ended = true;
    Shortcuts* own = std::exchange(Shortcuts::own_, nullptr);
    own->claimed_.store(false, std::memory_order_release);
  }
};

Shortcuts* Shortcuts::claim() {
  if (t_ended || !os::has_process_barrier()) return nullptr;
  Shortcuts* own = g_first.load(std::memory_order_acquire);
  for (; own != nullptr; own = own->next_)
    if (!own->claimed_.load(std::memory_order_relaxed) &&  // a guess, which the exchange proves
        !own->claimed_.exchange(true, std::memory_order_acquire))
      break;
  if (own == nullptr) {
    own = new (std::nothrow) Shortcuts;
    if (own == nullptr) return nullptr;
    own->number_ = static_cast<uint16_t>(std::min<uint64_t>(g_count.fetch_add(1) + 1, kSeveral));
    own->next_ = g_first.load(std::memory_order_relaxed);  // passed on, and not followed here
    while (!g_first.compare_exchange_weak(own->next_, own, std::memory_order_release)) {
    }
  }
  thread_local ShortcutsEnd end;
  (void)end;
  own_ = own;
  return own;
}

const Shortcuts::Shortcut* Shortcuts::find(uint64_t who, Va va) {
  for (const Shortcut& known : table_)
    if (known.covers(who, va)) return latest_ = &known;
  return nullptr;
}

void Shortcuts::remember(const AddressSpace& space, const Mapping& mapping, uint32_t device,
                         device::Bank& bank, const SubBlocks::Block* block) {
  if (block != nullptr && block->tag == nullptr) return;  // nothing tells when it ends
  if (space.broken().any()) return;                       // another page of the mapping may be broken
  Shortcuts* own = own_ != nullptr ? own_ : claim();
  if (own == nullptr) return;
  const uint64_t life = remembered(mapping.life, own->number_);
  const SubBlocks::Tag* tag = &mapping.life;
  uint64_t tag_value = life;
  if (block != nullptr && block->users != nullptr) {
    tag = &block->users->life;
    tag_value = remembered(block->users->life, own->number_);
  } else if (block != nullptr) {
    tag = block->tag;
    tag_value = block->tag_value;
  }
  // Relaxed: the mapping is pinned.
  const uint64_t start =
      block != nullptr ? block->start.value : mapping.start.load(std::memory_order_relaxed);
  const uint64_t size_bytes =
      block != nullptr ? block->size_bytes : mapping.size_bytes.load(std::memory_order_relaxed);
  // In the place of what was known of the same block in an earlier life, if anything was.
  const uint64_t who = owner_of(space, device);
  auto place = std::find_if(own->table_.begin(), own->table_.end(), [&](const Shortcut& known) {
    return known.owner == who && known.start < start + size_bytes && start < known.end;
  });
  if (place == own->table_.end()) place = own->table_.begin() + own->oldest_++ % own->table_.size();
  *place = {who, start, start + size_bytes, &bank, &mapping, life, tag, tag_value};
  own->latest_ = &*place;
}

template <class IsMeant>
uint32_t Shortcuts::end(SubBlocks::Tag& life_word, IsMeant is_meant) {
  const uint64_t life = life_word.load(std::memory_order_relaxed);
  const uint64_t who = who_of(life);
  if (who == kNobody) return 0;
  // The new life keeps who remembered the old one until nobody was seen inside: whoever is refused comes
  // again, and must look again.
  life_word.store(with(next(life), who), std::memory_order_relaxed);
  uint32_t users = 0;
  if (own_ == nullptr || who != own_->number_ || who == kSeveral) {  // else this thread alone, and it is here
    users = os::process_barrier() ? 0 : 1;                           // without it nothing is certain
    for (Shortcuts* at = g_first.load(std::memory_order_acquire); at != nullptr; at = at->next_)
      if (const SubBlocks::Tag* used = at->used_.load(std::memory_order_acquire); used != nullptr)
        users += is_meant(used) ? 1 : 0;
  }
  if (users == 0) life_word.store(next(life), std::memory_order_relaxed);
  return users;
}

uint32_t Shortcuts::forget(Mapping& mapping) {
  const SubBlocks* blocks = mapping.sub_blocks.load(std::memory_order_relaxed);
  return end(mapping.life, [&](const SubBlocks::Tag* used) {
    return used == &mapping.life || (blocks != nullptr && blocks->has_tag(used));
  });
}

uint32_t Shortcuts::forget(BlockUsers& users) {
  return end(users.life, [&](const SubBlocks::Tag* used) { return used == &users.life; });
}

}  // namespace plat::vmm
