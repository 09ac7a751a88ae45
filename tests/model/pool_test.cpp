// SPDX-License-Identifier: Apache-2.0
// What threads of the pool read without a lock: src/pool/space.h (SpaceIndex), small_table.h, fast_path.h,
// lock.h and streams.h in small. The programs are written from these; whoever changes one changes the other.
#include <gtest/gtest.h>

#include <memory>

#include "model/orders.h"

namespace plat::model {
namespace {

constexpr Order kRelaxed = Order::relaxed;

// A table of two words that belong together, and a count that is odd while a writer changes them.
TEST(Model, IndexOfSpaces) {
  expect_needs_all_its_orders([](Orders& orders) {
    struct Words {
      Atomic turn{0};
      Atomic base{1}, space{1};
      Plain what_the_space_is;
    };
    auto w = std::make_shared<Words>();
    return std::vector<Program>{
        [w, &orders] {
          w->what_the_space_is.write();
          w->turn.store(1, kRelaxed);
          w->base.store(2, orders.store("word", Order::release));
          w->space.store(2, orders.store("word", Order::release));
          w->turn.store(2, orders.store("end of the turn", Order::release));
        },
        [w, &orders] {
          const uint64_t turn = w->turn.load(orders.load("turn", Order::acquire));
          const uint64_t base = w->base.load(orders.load("read a word", Order::acquire));
          const uint64_t space = w->space.load(orders.load("read a word", Order::acquire));
          if (turn % 2 != 0 || w->turn.load(kRelaxed) != turn) return;
          expect(base == space, "the addresses of one space and the name of another");
          if (space == 2) w->what_the_space_is.read();
        },
    };
  });
}

// The entry of a slice is shown after its marks and its array of marks.
TEST(Model, EntriesOfSpans) {
  expect_needs_all_its_orders([](Orders& orders) {
    struct Words {
      Atomic entry{0}, more{0}, mark{7};
      Plain array;
    };
    auto w = std::make_shared<Words>();
    return std::vector<Program>{
        [w, &orders] {
          w->array.write();
          w->more.store(1, kRelaxed);
          w->mark.store(0, kRelaxed);
          w->entry.store(1, orders.store("entry", Order::release));
        },
        [w, &orders] {
          if (w->entry.load(orders.load("entry of", Order::acquire)) == 0) return;
          expect(w->more.load(kRelaxed) == 1, "an entry without its marks");
          expect(w->mark.load(kRelaxed) == 0, "a mark of the span before");
          w->array.read();
        },
    };
  });
}

// Where small blocks are: the length is shown last, and looked at first.
TEST(Model, HomeOfSmallBlocks) {
  expect_needs_all_its_orders([](Orders& orders) {
    struct Words {
      Atomic base{0}, table{0}, bytes{0};
      Plain contents;
    };
    auto w = std::make_shared<Words>();
    return std::vector<Program>{
        [w, &orders] {
          w->contents.write();
          w->base.store(1, kRelaxed);
          w->table.store(1, kRelaxed);
          w->bytes.store(1, orders.store("bytes", Order::release));
        },
        [w, &orders] {
          if (w->bytes.load(orders.load("end", Order::acquire)) == 0) return;
          expect(w->base.load(kRelaxed) == 1, "a length without its start");
          expect(w->table.load(kRelaxed) == 1, "a length without its table");
          w->contents.read();
        },
    };
  });
}

// Streams: an entry is shown by the count. Its domain is looked up without a lock.
TEST(Model, StreamsOfAPool) {
  expect_needs_all_its_orders([](Orders& orders) {
    struct Words {
      Atomic count{0}, stream{0};
    };
    auto w = std::make_shared<Words>();
    return std::vector<Program>{
        [w, &orders] {
          w->stream.store(5, kRelaxed);
          w->count.store(1, orders.store("count", Order::release));
        },
        [w, &orders] {
          if (w->count.load(orders.load("streams", Order::acquire)) != 0)
            expect(w->stream.load(kRelaxed) == 5, "a domain without its stream");
        },
    };
  });
}

// A block that two threads hand to each other by way of a zone, or of a shelf of the depot, under its lock.
TEST(Model, LockOfAZone) {
  expect_needs_all_its_orders([](Orders& orders) {
    struct Words {
      Atomic taken{0};
      Plain zone;
    };
    auto w = std::make_shared<Words>();
    const auto use = [w, &orders] {
      if (w->taken.exchange(1, orders.change("lock", Order::acquire)) != 0) return;  // the other has it
      w->zone.write();
      w->taken.store(0, orders.store("unlock", Order::release));
    };
    return std::vector<Program>{use, use, use};
  });
}

}  // namespace
}  // namespace plat::model
