// SPDX-License-Identifier: Apache-2.0
// Counting users of a mapping, and of a block: src/vmm/mapping.cpp (install, uninstall) and
// src/vmm/translate.h (PagePin, PinnedRange, pin) in small. The programs are written from these; whoever
// changes one changes the other.
#include <gtest/gtest.h>

#include <memory>

#include "model/orders.h"

namespace plat::model {
namespace {

constexpr uint64_t kClosing = UINT64_MAX;
constexpr Order kRelaxed = Order::relaxed;

// One mapping that stands for page A at address A, is taken down, and then stands for page B at address B.
struct Mapped {
  Atomic users{0};
  Atomic entry_a{1}, entry_b{0};
  Atomic second_entry_b{0};  // of another page of the same mapping
  Atomic start{'a'};
  Plain page_a, page_b;
};

// What a copy does at an address. `page` is what the memory there is.
void copy(Orders& orders, Mapped& m, Atomic& entry, uint64_t start, Plain& page) {
  if (entry.load(kRelaxed) == 0) return;
  uint64_t users = m.users.load(kRelaxed);
  if (users == kClosing || !m.users.compare_exchange(users, users + 1, orders.change("pin", Order::acquire)))
    return;
  if (entry.load(kRelaxed) != 0) {  // still there: the mapping has not been given a new life elsewhere
    expect(m.start.load(kRelaxed) == start, "the fields of another life");
    if (start == 'b')
      expect(m.second_entry_b.load(kRelaxed) != 0, "a mapping of which a part is not there yet");
    page.write();
  }
  m.users.fetch_add(-uint64_t{1}, orders.change("unpin", Order::release));
}

// `opens_last`: users are let in when all of the mapping is there.
std::vector<Program> pins(Orders& orders, bool opens_last) {
  auto m = std::make_shared<Mapped>();
  return {
      [m, &orders, opens_last] {
        uint64_t nobody = 0;
        if (!m->users.compare_exchange(nobody, kClosing, orders.change("close", Order::acquire))) return;
        m->entry_a.store(0, kRelaxed);
        m->page_a.write();  // the next owner of the page
        m->page_b.write();  // and who had the other before
        m->start.store('b', kRelaxed);
        if (!opens_last) m->users.store(0, Order::release);
        m->entry_b.store(1, kRelaxed);
        m->second_entry_b.store(1, kRelaxed);
        if (!opens_last) return;
        m->users.store(0, orders.store("open", Order::release));
        // An attempt to take it down that is refused, because a thread uses it by a shortcut.
        nobody = 0;
        if (m->users.compare_exchange(nobody, kClosing, Order::acquire))
          m->users.store(0, orders.store("reopen", Order::release));
      },
      [m, &orders] { copy(orders, *m, m->entry_a, 'a', m->page_a); },
      [m, &orders] { copy(orders, *m, m->entry_b, 'b', m->page_b); },
  };
}

TEST(Model, PinsOfAMapping) {
  expect_needs_all_its_orders([](Orders& orders) { return pins(orders, true); });
}

// As it once was: who copied with the first page while the second was being mapped could remember the whole
// mapping, and take the second page's entry for one.
TEST(Model, MappingsOpenLast) {
  Orders orders;
  EXPECT_NE(explore([&] { return pins(orders, false); }).violation, "");
}

// Look-ups that count nothing (reservation_at, describe) read the fields of whatever mapping the entry names,
// and find them written.
TEST(Model, EntriesOfAMapping) {
  expect_needs_all_its_orders([](Orders& orders) {
    struct Words {
      Atomic entry{0};
      Atomic reservation{0};
    };
    auto w = std::make_shared<Words>();
    return std::vector<Program>{
        [w, &orders] {
          w->reservation.store(7, kRelaxed);
          w->entry.store(1, orders.store("entry", Order::release));
        },
        [w, &orders] {
          if (w->entry.load(orders.load("look up", Order::acquire)) != 0)
            expect(w->reservation.load(kRelaxed) == 7, "a mapping that was not written yet");
        },
    };
  });
}

// A leaf of the page table, a chunk of a StableArray: made with plain stores, then shown
// (core/page_table.cpp, core/stable_array.h).
TEST(Model, LeavesAndChunks) {
  expect_needs_all_its_orders([](Orders& orders) {
    struct Words {
      Atomic leaf{0};
      Plain entries;
    };
    auto w = std::make_shared<Words>();
    return std::vector<Program>{
        [w, &orders] {
          w->entries.write();
          w->leaf.store(1, orders.store("leaf", Order::release));
        },
        [w, &orders] {
          if (w->leaf.load(orders.load("leaf_of", Order::acquire)) != 0) w->entries.read();
        },
    };
  });
}

// A block among others (SmallRegion::free): whoever frees takes the tag and looks at the count, whoever
// copies counts and looks at the tag.
TEST(Model, PinsOfABlock) {
  expect_needs_all_its_orders([](Orders& orders) {
    struct Words {
      Atomic tag{1};
      Atomic counted{0};
      Plain memory;
    };
    auto w = std::make_shared<Words>();
    const auto copy = [w, &orders] {
      const uint64_t tag = w->tag.load(kRelaxed);
      if (tag == 0) return;
      w->counted.fetch_add(1, orders.change("count", Order::seq_cst));
      if (w->tag.load(orders.load("tag again", Order::seq_cst)) == tag) w->memory.write();
      w->counted.fetch_add(-uint64_t{1}, orders.change("uncount", Order::release));
    };
    return std::vector<Program>{
        [w, &orders] {
          for (int attempt = 0; attempt < 2; ++attempt) {
            const uint64_t tag = w->tag.exchange(0, orders.change("take tag", Order::seq_cst));
            if (w->counted.load(orders.load("look at count", Order::seq_cst)) == 0) return w->memory.write();
            w->tag.store(tag, orders.store("put tag back", kRelaxed));
          }
        },
        copy,
    };
  });
}

}  // namespace
}  // namespace plat::model
