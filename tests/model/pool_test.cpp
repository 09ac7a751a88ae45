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

// Batches of a stream: work is queued, a block is freed behind it, and somebody asks how far the stream is.
// The stream is in order by itself, for whoever queues something on it: an event covers what was queued
// before it.
struct Batches {
  Atomic queue{0};  // of the stream: 1 once the work is queued
  Atomic batch{1}, dirty{0};
  Atomic zone_lock{0};
  Plain zone;       // what the lock guards
  Atomic filed{0};  // in the zone: the batch of the block; 0: it is nobody's
  Atomic ended{0};

  // Whoever waits for the lock would do the same later.
  bool lock(Orders& orders) { return zone_lock.exchange(1, orders.change("lock", Order::acquire)) == 0; }
  void unlock(Orders& orders) { zone_lock.store(0, orders.store("unlock", Order::release)); }

  uint64_t join(Orders& orders) {
    const auto set = [&] {
      if (dirty.load(kRelaxed) == 0) dirty.store(1, kRelaxed);
    };
    const bool in_order = orders.has("the batch before the flag");
    if (!in_order) set();
    const uint64_t joined = batch.load(orders.load("join", Order::acquire));
    if (in_order) set();
    return joined;
  }
  // False when the lock was another's, and nothing is to be said of how it ends.
  bool free(Orders& orders) {
    queue.exchange(1, orders.change("order of the stream", Order::acq_rel));
    const bool inside = orders.has("joined under the lock");
    const uint64_t before = inside ? 0 : join(orders);
    if (!lock(orders)) return false;
    zone.write();
    filed.store(inside ? join(orders) : before, kRelaxed);
    unlock(orders);
    return true;
  }

  // Streams::passed and Recycler::settle_zones; the event passes at once if it covers the work.
  bool ask(Orders& orders) {
    if (dirty.load(kRelaxed) == 0) return true;
    uint64_t closed = 0;
    if (orders.has("the flag before the batch")) {
      dirty.store(0, kRelaxed);
      closed = batch.fetch_add(1, orders.change("close", Order::release));
    } else {
      closed = batch.fetch_add(1, orders.change("close", Order::release));
      dirty.store(0, kRelaxed);
    }
    const bool covers = queue.fetch_add(0, orders.change("order of the stream", Order::acq_rel)) == 1;
    return settle(orders, closed, covers);
  }
  bool settle(Orders& orders, uint64_t closed, bool covers) {
    if (!lock(orders)) return false;
    zone.write();
    const uint64_t at = filed.load(kRelaxed);
    if (at != 0 && at <= closed) {
      expect(covers, "memory that work may still use is nobody's");
      filed.store(0, kRelaxed);
    }
    unlock(orders);
    return true;
  }
  // The last to end asks once more: then there is nothing left to ask about.
  void end(Orders& orders) {
    if (ended.fetch_add(1, Order::acq_rel) == 0) return;
    ask(orders);
    expect(filed.load(kRelaxed) == 0, "nobody asks about a block");
  }
};

std::vector<Program> batches(Orders& orders) {
  auto w = std::make_shared<Batches>();
  w->dirty = Atomic{1};  // somebody has freed another block before
  return {
      [w, &orders] {
        if (w->free(orders)) w->end(orders);
      },
      [w, &orders] {
        if (w->ask(orders)) w->end(orders);
      },
  };
}

// Streams::finish, settle_zones and vacate, then add for the next stream (5) in the same place, and somebody
// who asks how far that one is. A free on it finds it without the mutex.
std::vector<Program> place_used_again(Orders& orders) {
  auto w = std::make_shared<Batches>();
  w->dirty = Atomic{1};
  auto stream = std::make_shared<Atomic>(1);
  return {
      [w, stream, &orders] {
        if (stream->load(kRelaxed) != 5) return;
        if (w->free(orders)) w->end(orders);
      },
      [w, stream, &orders] {
        const bool settled_before = orders.has("settled before the place is another's");
        if (!settled_before) stream->store(5, kRelaxed);
        w->dirty.store(0, kRelaxed);
        const uint64_t closed = w->batch.fetch_add(1, orders.change("close", Order::release));
        if (!w->settle(orders, closed, false)) return;
        stream->store(0, kRelaxed);
        stream->store(5, kRelaxed);
        if (w->ask(orders)) w->end(orders);
      },
  };
}

TEST(Model, BatchesOfAStream) { expect_needs_all_its_orders({batches, place_used_again}); }

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
