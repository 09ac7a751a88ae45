// SPDX-License-Identifier: Apache-2.0
// Page-locked memory that copies use and that is freed: src/malloc/host_use.h, host_use.cpp and
// HostHeap::free in small. The programs are written from these; whoever changes one changes the other.
#include <gtest/gtest.h>

#include <memory>

#include "model/orders.h"

namespace plat::model {
namespace {

constexpr Order kRelaxed = Order::relaxed;
constexpr uint64_t kSeveral = 0xFF;
constexpr uint64_t kLife = 0x100;

struct World {
  Atomic mutex{0};  // of the heap
  Atomic life{kLife};
  Atomic is_there{1};  // in the heap's table
  Atomic used{0};      // what the copying thread notes
  Atomic clock{0};     // whoever reads it takes a while
  Plain memory;
};

void copy(World& w) {
  (void)w.clock.load(kRelaxed);
  w.memory.write();
}

// A mutex that is given up on when another has it: whoever waited would do the same later.
bool lock(World& w) { return w.mutex.exchange(1, Order::acquire) == 0; }
void unlock(World& w) { w.mutex.store(0, Order::release); }

// A thread that copies twice: the first time it finds the block in the table and remembers it, the second
// time it takes what it remembers.
void copy_twice(Orders& orders, World& w) {
  constexpr uint64_t kNumber = 1;
  if (!lock(w)) return;
  if (w.is_there.load(kRelaxed) == 0) return unlock(w);
  uint64_t life = w.life.load(kRelaxed);
  while (life % kLife != kNumber && life % kLife != kSeveral) {
    const uint64_t shared = life / kLife * kLife + (life % kLife == 0 ? kNumber : kSeveral);
    if (w.life.compare_exchange(life, shared, kRelaxed)) life = shared;
  }
  w.used.store(1, kRelaxed);
  unlock(w);
  copy(w);
  w.used.store(0, orders.store("end of the use", Order::release));

  if (orders.has("signal fence")) {
    w.used.store(1, kRelaxed);
    if (w.life.load(kRelaxed) == life) copy(w);
  } else {  // a compiler may turn them around
    const uint64_t now = w.life.load(kRelaxed);
    w.used.store(1, kRelaxed);
    if (now == life) copy(w);
  }
  w.used.store(0, orders.store("end of the use", Order::release));
}

// `keeps_who`: who is refused looks again.
bool is_used(Orders& orders, World& w, bool keeps_who) {
  const uint64_t life = w.life.load(kRelaxed);
  const uint64_t next = (life / kLife + 1) * kLife;
  if (life % kLife != 0) {
    w.life.store(next + (keeps_who ? kSeveral : 0), kRelaxed);
    if (orders.has("process barrier")) process_barrier();
    if (w.used.load(orders.load("look", Order::acquire)) != 0) return true;
  }
  w.life.store(next, kRelaxed);
  return false;
}

std::vector<Program> protocol(Orders& orders, bool keeps_who) {
  auto w = std::make_shared<World>();
  return {[=, &orders] {
            for (int attempt = 0; attempt < 2; ++attempt) {
              if (!lock(*w)) continue;
              const bool refused = is_used(orders, *w, keeps_who);
              if (!refused) {
                w->is_there.store(0, kRelaxed);
                w->memory.write();  // its next owner
              }
              unlock(*w);
              if (!refused) return;
            }
          },
          [=, &orders] { copy_twice(orders, *w); }};
}

TEST(Model, UsesOfPageLockedMemory) {
  expect_needs_all_its_orders([](Orders& orders) { return protocol(orders, true); });
}

TEST(Model, UsesOfPageLockedMemoryMustBeLookedForAgain) {
  Orders orders;
  EXPECT_NE(explore([&] { return protocol(orders, false); }).violation, "");
}

}  // namespace
}  // namespace plat::model
