// SPDX-License-Identifier: Apache-2.0
// The commit word of a page: src/device/bank.h and bank.cpp (commit_run, expose), src/device/ledger.cpp
// (release, scrub) and the reaping of the dead in ledger_recovery.cpp in small. The programs are written from
// these; whoever changes one changes the other.
//
// A page belongs to a block that two processes hold. Calls of the system are accesses to plain memory: taking
// memory for the page, writing to it and giving it back are changes that another may only look at when it
// knows of them. What the kernel orders (its file locks, the end of a process) is written with fixed orders.
#include <gtest/gtest.h>

#include <memory>

#include "model/orders.h"

namespace plat::model {
namespace {

constexpr Order kRelaxed = Order::relaxed;
enum State : uint64_t { kNothing, kTaking, kTaken, kExposed };
constexpr uint64_t kFree = 4;  // of the holders: nobody, and the page was cleared

struct World {
  Atomic committed{kNothing};
  Atomic holders{3};  // a bit each
  Atomic device_lock{0};
  Atomic alive{1};       // the lock byte of the slot of process 0
  Atomic signal{0};      // that kills it
  Atomic has_memory{0};  // the system's count of the page; by calls of the system, which it orders
  Plain taken;           // whether memory is behind the page
};

struct Process {
  Orders& orders;
  std::shared_ptr<World> w;
  uint64_t number;

  bool is_committed() const {
    return w->committed.load(orders.load("is committed", Order::acquire)) == kTaken;
  }

  // Whoever waits for the lock would do the same later.
  bool lock() const { return w->device_lock.exchange(1, Order::acquire) == 0; }
  void unlock() const { w->device_lock.store(0, Order::release); }

  // Bank::commit_run, by the process that does not die.
  void commit() const {
    uint64_t nothing = kNothing;
    w->committed.compare_exchange(nothing, kTaking, kRelaxed);
    w->has_memory.fetch_add(1, kRelaxed);
    w->taken.write();
    w->committed.store(kTaken, orders.store("taken", Order::release));
  }

  // Ledger::scrub. Nobody holds the block.
  void scrub() const {
    if (w->committed.load(kRelaxed) != kNothing) {
      w->taken.write();
      w->has_memory.exchange(0, kRelaxed);
    }
    w->committed.store(kNothing, kRelaxed);
    if (!lock()) return;
    w->holders.store(kFree, kRelaxed);
    unlock();
  }

  // Ledger::release, of the holds that are given.
  void release(uint64_t holds) const {
    if (!lock()) return;
    const uint64_t left = w->holders.load(kRelaxed) & ~holds;
    w->holders.store(left, kRelaxed);
    unlock();
    if (left == 0) scrub();
  }

  // The next owner.
  void allocate() const {
    if (!lock()) return;
    const bool free = w->holders.load(kRelaxed) == kFree;
    if (free) w->holders.store(1, kRelaxed);
    unlock();
    if (!free) return;
    expect(w->committed.load(kRelaxed) == kNothing, "an owner finds the state of the one before");
    expect(w->has_memory.load(kRelaxed) == 0, "an owner finds the memory of the one before");
    w->taken.write();
  }
};

// One process takes memory and lets go; the other writes when there is some; a third has the page next.
std::vector<Program> two_holders(Orders& orders) {
  auto w = std::make_shared<World>();
  const Process first{orders, w, 0}, second{orders, w, 1}, third{orders, w, 2};
  return {[first] {
            first.commit();
            first.release(1);
          },
          [second, w] {
            if (second.is_committed()) w->taken.read();
            second.release(2);
          },
          [third] { third.allocate(); }};
}

// A process is killed anywhere in commit_run. Who reaps it has no hold of its own.
std::vector<Program> a_death(Orders& orders) {
  auto w = std::make_shared<World>();
  w->holders = Atomic{1};
  const Process reaper{orders, w, 1}, next{orders, w, 2};
  return {[w, &orders] {
            const auto dies = [&] {
              if (w->signal.load(kRelaxed) == 0) return false;
              w->alive.store(0, Order::release);
              return true;
            };
            const auto mark = [&] {
              uint64_t nothing = kNothing;
              w->committed.compare_exchange(nothing, kTaking, kRelaxed);
            };
            const bool before = orders.has("marked before memory is taken");
            if (before) mark();
            if (dies()) return;
            w->has_memory.fetch_add(1, kRelaxed);
            w->taken.write();
            if (dies()) return;
            if (!before) mark();
            w->committed.store(kTaken, orders.store("taken", Order::release));
          },
          [w, reaper] {
            w->signal.store(1, kRelaxed);
            if (w->alive.load(Order::acquire) != 0) return;
            reaper.release(1);
          },
          [next] { next.allocate(); }};
}

// One process exposes the page to its host while the other takes memory for it, and looks afterwards.
std::vector<Program> exposed(Orders& orders) {
  auto w = std::make_shared<World>();
  const Process first{orders, w, 0}, second{orders, w, 1};
  return {[w, first, &orders] {
            if (orders.has("what is taken is not exposed")) {
              uint64_t known = w->committed.load(kRelaxed);
              while (known != kTaken && known != kExposed &&
                     !w->committed.compare_exchange(known, kExposed, kRelaxed)) {
              }
            } else {
              w->committed.store(kExposed, kRelaxed);
            }
            w->has_memory.fetch_add(1, kRelaxed);  // the host touches it
            first.release(1);
          },
          [w, second] {
            second.commit();
            expect(w->committed.load(kRelaxed) == kTaken,
                   "a copy takes a page for one that was never written");
            second.release(2);
          },
          [third = Process{orders, w, 2}] { third.allocate(); }};
}

// As it would be if exposing were not noted: nobody clears what the host wrote.
std::vector<Program> exposed_alone(Orders& orders) {
  auto w = std::make_shared<World>();
  w->holders = Atomic{1};
  const Process first{orders, w, 0};
  return {[w, first, &orders] {
            if (orders.has("noted before the host has it")) {
              uint64_t known = kNothing;
              w->committed.compare_exchange(known, kExposed, kRelaxed);
            }
            w->has_memory.fetch_add(1, kRelaxed);
            first.release(1);
          },
          [next = Process{orders, w, 2}] { next.allocate(); }};
}

TEST(Model, CommitWordOfAPage) {
  expect_needs_all_its_orders({two_holders, a_death, exposed, exposed_alone});
}

}  // namespace
}  // namespace plat::model
