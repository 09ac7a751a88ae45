// SPDX-License-Identifier: Apache-2.0
// What threads remember, and how it is forgotten: src/vmm/shortcuts.h and shortcuts.cpp in small. The
// programs are written from these; whoever changes one changes the other.
#include <gtest/gtest.h>

#include <memory>

#include "model/orders.h"

namespace plat::model {
namespace {

constexpr Order kRelaxed = Order::relaxed;
constexpr uint64_t kClosing = UINT64_MAX;
constexpr uint64_t kSeveral = 0xFF;
constexpr uint64_t kLife = 0x100;

uint64_t who_of(uint64_t life) { return life % kLife; }
uint64_t next(uint64_t life) { return (life / kLife + 1) * kLife; }

struct World {
  Atomic users{0};
  Atomic life{kLife};
  Atomic entry{1};    // which page is mapped; 0: none
  Plain pages[2][2];  // their memory; each thread copies with a part of its own
  Plain records[2];   // of the threads that remember: their place in the list, and what does not change
  Atomic first{0};    // the list: 0, or one more than its first record
  Atomic used[2] = {Atomic(0), Atomic(0)};  // what each thread uses
};

// A thread that copies twice: the first time it is counted and makes the shortcut, the second time it takes
// it.
void copy_twice(Orders& orders, World& w, uint64_t thread) {
  const uint64_t number = thread + 1;
  uint64_t users = w.users.load(kRelaxed);
  if (users == kClosing || !w.users.compare_exchange(users, users + 1, orders.change("pin", Order::acquire)))
    return;
  const uint64_t entry = w.entry.load(kRelaxed);
  uint64_t life = 0;
  if (entry != 0) {
    w.records[thread].write();
    uint64_t head = w.first.load(kRelaxed);
    while (!w.first.compare_exchange(head, number, Order::release)) {
    }
    life = w.life.load(kRelaxed);
    while (who_of(life) != number && who_of(life) != kSeveral) {
      const uint64_t shared = life / kLife * kLife + (who_of(life) == 0 ? number : kSeveral);
      if (w.life.compare_exchange(life, shared, kRelaxed)) life = shared;
    }
  }
  w.users.fetch_add(-uint64_t{1}, orders.change("unpin", Order::release));
  if (entry == 0) return;
  // Use
  uint64_t now = 0;
  if (orders.has("signal fence")) {
    w.used[thread].store(1, kRelaxed);
    now = w.life.load(kRelaxed);
  } else {  // a compiler may turn them around
    now = w.life.load(kRelaxed);
    w.used[thread].store(1, kRelaxed);
  }
  if (now == life) {
    const uint64_t page = w.entry.load(kRelaxed);
    expect(page != 0, "a copy with a page that is not there");
    if (page != 0) w.pages[page - 1][thread].write();
  }
  w.used[thread].store(0, orders.store("leave", Order::release));
}

// Whether `uninstall` succeeds. `keep`: the new life keeps who remembered the old one until nobody was seen.
bool take_down(Orders& orders, World& w, uint64_t threads, bool keep) {
  uint64_t nobody = 0;
  if (!w.users.compare_exchange(nobody, kClosing, orders.change("close", Order::acquire))) return false;
  const uint64_t life = w.life.load(kRelaxed);
  if (who_of(life) != 0) {
    w.life.store(next(life) + (keep ? who_of(life) : 0), kRelaxed);
    if (orders.has("process barrier")) process_barrier();
    bool is_used = false;
    if (const uint64_t head = w.first.load(Order::acquire); head != 0) {
      for (uint64_t thread = 0; thread < threads; ++thread)
        is_used = w.used[thread].load(orders.load("look", Order::acquire)) != 0 || is_used;
      w.records[head - 1].read();
    }
    if (is_used) {
      w.users.store(0, Order::release);  // see pin_test.cpp
      return false;
    }
    w.life.store(next(life), kRelaxed);
  }
  w.entry.store(0, kRelaxed);
  return true;
}

struct Variant {
  uint64_t threads = 1;
  bool maps_again = true;
  int attempts = 2;
  bool keeps_who = true;
};

std::vector<Program> protocol(Orders& orders, const Variant& variant) {
  const auto [threads, maps_again, attempts, keep] = variant;
  auto w = std::make_shared<World>();
  std::vector<Program> programs{[=, &orders] {
    // Unmaps page 1, tries again when it is refused, maps page 2 with the same mapping, and unmaps it too.
    bool gone = false;
    for (int attempt = 0; attempt < attempts && !gone; ++attempt) gone = take_down(orders, *w, threads, keep);
    if (!gone) return;
    for (Plain& part : w->pages[0]) part.write();  // its next owner
    if (!maps_again) return;
    for (Plain& part : w->pages[1]) part.write();  // who had the other before
    w->entry.store(2, kRelaxed);
    w->users.store(0, orders.store("open", Order::release));
    if (!take_down(orders, *w, threads, keep)) return;
    for (Plain& part : w->pages[1]) part.write();
  }};
  for (uint64_t thread = 0; thread < threads; ++thread)
    programs.push_back([=, &orders] { copy_twice(orders, *w, thread); });
  return programs;
}

TEST(Model, Shortcuts) {
  expect_needs_all_its_orders([](Orders& orders) { return protocol(orders, {}); });
}

// As it once was: the second look found nobody, although a copy was inside.
TEST(Model, ShortcutsMustKeepWhoRemembers) {
  Orders orders;
  EXPECT_NE(explore([&] { return protocol(orders, {.keeps_who = false}); }).violation, "");
}

TEST(Model, ShortcutsOfTwoThreads) {
  Orders orders;
  const Outcome outcome =
      explore([&] { return protocol(orders, {.threads = 2, .maps_again = false, .attempts = 1}); });
  EXPECT_EQ(outcome.violation, "");
  RecordProperty("states", static_cast<int>(outcome.states));
}

// Whoever walks the list of what threads note finds the records of threads that it has never met.
TEST(Model, ListOfThreads) {
  expect_needs_all_its_orders([](Orders& orders) {
    auto w = std::make_shared<World>();
    const auto claim = [w, &orders](uint64_t thread) {
      w->records[thread].write();
      uint64_t head = w->first.load(kRelaxed);
      while (!w->first.compare_exchange(head, thread + 1, orders.change("list", Order::release))) {
      }
    };
    return std::vector<Program>{
        [=] { claim(0); },
        [=] { claim(1); },
        [=, &orders] {
          const uint64_t head = w->first.load(orders.load("walk", Order::acquire));
          if (head != 0) w->records[head - 1].read();
        },
    };
  });
}

}  // namespace
}  // namespace plat::model
