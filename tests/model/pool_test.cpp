// SPDX-License-Identifier: Apache-2.0
// What threads of the pool read without a lock: src/pool/space.h (SpaceIndex), small_table.h, fast_path.h,
// fast_path_switch.cpp, lock.h and streams.h in small. The programs are written from these; whoever changes
// one changes the other.
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

// Streams::state_of: a stream is gone, and while that is found out another gets its name (1), by which its
// thread finds the place.
std::vector<Program> name_used_again(Orders& orders) {
  struct Words {
    Atomic exists{0};
    Atomic stream{1};
    Atomic is_given_up{0}, is_found{0};
    Atomic ended{0};
  };
  auto w = std::make_shared<Words>();
  const auto end = [w] {
    if (w->ended.fetch_add(1, Order::acq_rel) == 0) return;
    expect(w->is_given_up.load(kRelaxed) == 0 || w->is_found.load(kRelaxed) == 0,
           "a stream has the place of another that is given up");
  };
  return {
      [w, end, &orders] {
        w->exists.exchange(1, orders.change("order of the stream", Order::acq_rel));
        if (w->stream.load(kRelaxed) == 1) w->is_found.store(1, kRelaxed);
        end();
      },
      [w, end, &orders] {
        const auto is_gone = [&] {
          return w->exists.fetch_add(0, orders.change("order of the stream", Order::acq_rel)) == 0;
        };
        if (!is_gone()) return end();
        const bool before = orders.has("hidden before it is asked for again");
        if (before) w->stream.store(9, kRelaxed);
        const bool is_still = is_gone();
        if (!before) w->stream.store(9, kRelaxed);
        if (!is_still) w->stream.store(1, kRelaxed);
        w->is_given_up.store(is_still ? 1 : 0, kRelaxed);
        end();
      },
  };
}

TEST(Model, BatchesOfAStream) { expect_needs_all_its_orders({batches, place_used_again, name_used_again}); }

// The short ways are closed: FastPathSwitch::refresh, with what decides on it, and who has passed by them.
// The stores are seq_cst in the code; relaxed would do. What the program tells its threads has fixed orders.
//
// A use is noted, while the one that closed the ways until now comes back.
std::vector<Program> closed_for_a_use(Orders& orders) {
  struct Words {
    Atomic uses_lock{0};
    Plain uses;
    Atomic count{1};
    Atomic switch_lock{0};
    Atomic key{0}, large{0};  // open: 1
    Atomic told{0};
    // Whoever waits for a lock would do the same later.
    static bool lock(Orders& orders, Atomic& of) {
      return of.exchange(1, orders.change("lock", Order::acquire)) == 0;
    }
    static void unlock(Orders& orders, Atomic& of) { of.store(0, orders.store("unlock", Order::release)); }
    bool refresh(Orders& orders) {
      const bool alone_here = orders.has("who looks and who closes is one");
      if (alone_here && !lock(orders, switch_lock)) return false;
      const uint64_t open = count.load(kRelaxed) == 0 ? 1 : 0;
      key.store(open, kRelaxed);
      large.store(open, kRelaxed);
      if (alone_here) unlock(orders, switch_lock);
      return true;
    }
    bool add(Orders& orders, uint64_t more) {
      if (!lock(orders, uses_lock)) return false;
      uses.write();
      count.store(count.load(kRelaxed) + more, kRelaxed);
      unlock(orders, uses_lock);
      return true;
    }
  };
  auto w = std::make_shared<Words>();
  return {
      [w, &orders] {
        if (w->add(orders, 1) && w->refresh(orders)) w->told.store(1, Order::release);
      },
      [w, &orders] {
        if (w->add(orders, -uint64_t{1})) w->refresh(orders);
      },
      [w] {
        if (w->told.load(Order::acquire) == 0) return;
        expect(w->key.load(kRelaxed) == 0, "a small block that others use goes the short way");
        expect(w->large.load(kRelaxed) == 0, "a large block that others use goes the short way");
        expect(w->count.load(kRelaxed) != 0, "nobody looks who uses the block");
      },
  };
}

// A zone gets addresses that a tool is told of.
std::vector<Program> closed_for_a_tool(Orders& orders) {
  struct Words {
    Atomic zone_lock{0};
    Atomic large{1}, listening{0}, told{0};
    bool lock(Orders& orders) { return zone_lock.exchange(1, orders.change("lock", Order::acquire)) == 0; }
    void unlock(Orders& orders) { zone_lock.store(0, orders.store("unlock", Order::release)); }
  };
  auto w = std::make_shared<Words>();
  return {
      [w, &orders] {
        if (!w->lock(orders)) return;
        w->told.store(1, kRelaxed);
        w->listening.store(1, kRelaxed);
        w->large.store(0, kRelaxed);
        w->unlock(orders);
      },
      [w, &orders] {  // Placer::place_at_once
        if (w->large.load(kRelaxed) == 0 || !w->lock(orders)) return;
        const bool open = !orders.has("asked again under the lock") || w->large.load(kRelaxed) != 0;
        const bool told = w->told.load(kRelaxed) != 0;
        w->unlock(orders);
        expect(!open || !told, "a block of a heap that the tool knows, and it does not hear of it");
      },
      [w, &orders] {  // Placer::place, and Pool::allocate
        if (!w->lock(orders)) return;
        const bool told = w->told.load(kRelaxed) != 0;
        w->unlock(orders);
        expect(!told || w->listening.load(kRelaxed) != 0, "a tool is told of a heap and not of its blocks");
      },
  };
}

// A thread keeps a block, which others ask back by the epoch: whether it hears of that or not, the block is
// one thread's.
std::vector<Program> asked_back(Orders& orders) {
  struct Words {
    Atomic epoch{0}, told{0};
    Atomic shelf_lock{0}, shelf{0};
    Plain block;
  };
  auto w = std::make_shared<Words>();
  return {
      [w, &orders] {
        w->epoch.fetch_add(1, kRelaxed);
        w->told.store(1, Order::release);
        if (w->shelf_lock.exchange(1, orders.change("lock", Order::acquire)) != 0) return;
        const bool got = w->shelf.load(kRelaxed) != 0;
        w->shelf_lock.store(0, orders.store("unlock", Order::release));
        if (got) w->block.write();
      },
      [w, &orders] {
        w->block.write();
        const bool told = w->told.load(Order::acquire) != 0;
        const bool asked = w->epoch.load(kRelaxed) != 0;
        expect(asked || !told, "a thread that was told keeps its blocks");
        if (!asked) return w->block.write();  // for one more call
        if (w->shelf_lock.exchange(1, orders.change("lock", Order::acquire)) != 0) return;
        w->shelf.store(1, kRelaxed);
        w->shelf_lock.store(0, orders.store("unlock", Order::release));
      },
  };
}

TEST(Model, ClosingTheFastPath) {
  expect_needs_all_its_orders({closed_for_a_use, closed_for_a_tool, asked_back});
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
