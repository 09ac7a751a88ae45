// SPDX-License-Identifier: Apache-2.0
// The bell of a board, by which one process wakes a stream of another: Board::Core in src/stream/board.cpp,
// and WaitingRoom::wait and WaitingRoom::notify in src/stream/waiting_room.h, in small. The programs are
// written from these; whoever changes one changes the other.
//
// A sleep is what the system promises: who sleeps is on the list of sleepers before the word is compared, and
// who wakes takes those off the list that are on it. Who takes a sleeper off goes on with that one's program.
// The changes of a notify's value are seq_cst in the code; for the bell, release and acquire would do.
#include <gtest/gtest.h>

#include <memory>

#include "model/orders.h"

namespace plat::model {
namespace {

constexpr Order kRelaxed = Order::relaxed;
constexpr Order kAcqRel = Order::acq_rel;
constexpr Order kSeqCst = Order::seq_cst;

struct World {
  Atomic value{0};  // of the notify
  Plain recorded;   // what was done before the record
  Atomic bell{0};
  Atomic listeners{0};
  Atomic attended{0};
  Atomic listener_sleeps{0};
  Atomic attendant_sleeps{0};
  Atomic parked{1};  // the stream; under Core::mutex, so that an exchange shows it
  Atomic completed{0};
  Atomic waiters{0};      // of the stream's gate
  Atomic at_the_bell{0};  // WaitingRoom::attended_, under the room's mutex
  Atomic ended{0};        // programs
};

struct Play {
  Orders& orders;
  std::shared_ptr<World> w;
  bool has_time = true;
  enum class Who : uint8_t { Ringer, Listener, Attendant };

  void wake(Atomic& sleeps) const {
    if (sleeps.exchange(0, kAcqRel) == 0) return;
    if (&sleeps == &w->listener_sleeps)
      listen();
    else
      attend_on();
  }
  // Whether this program goes on; if not, who wakes the sleeper goes on with it.
  bool sleep(Atomic& sleeps, uint64_t heard) const {
    sleeps.exchange(1, kAcqRel);
    if (w->bell.load(kSeqCst) == heard) return false;
    return sleeps.exchange(0, kAcqRel) == 1;
  }

  void ring() const {
    w->bell.fetch_add(1, orders.change("ring", kSeqCst));
    if (w->attended.load(orders.load("is it attended", kSeqCst)) != 0)
      wake(w->attendant_sleeps);
    else if (w->listeners.load(orders.load("is there a listener", kSeqCst)) > 0)
      wake(w->listener_sleeps);
  }

  void record() const {
    w->recorded.write();
    uint64_t before = 0;
    w->value.compare_exchange(before, 1, orders.store("record", Order::release));
    ring();
  }

  bool take() const {
    uint64_t set = 1;
    if (w->value.load(kRelaxed) == 0) return false;
    return w->value.compare_exchange(set, 0, orders.load("take", Order::acquire));
  }

  // Stream::step_notify, run by whoever passes the ring on, and the gate that it passes.
  void step(Who who) const {
    bool taken = take();
    if (!taken) {
      w->parked.exchange(1, kAcqRel);
      taken = take();
    }
    if (!taken) return;
    w->recorded.read();
    w->completed.store(1, orders.store("completed", kSeqCst));
    if (w->waiters.load(orders.load("does anybody wait", kSeqCst)) == 0) return;
    if (w->at_the_bell.fetch_add(0, kAcqRel) == 1 && who != Who::Attendant && orders.has("rouse")) {
      w->bell.fetch_add(1, kRelaxed);
      wake(w->attendant_sleeps);
    }
  }

  void pass_on(Who who) const {
    if (w->parked.exchange(0, kAcqRel) == 1) step(who);
  }

  void listen() const {
    for (;;) {
      const uint64_t heard = w->bell.load(orders.load("heard", Order::acquire));
      pass_on(Who::Listener);
      if (w->completed.load(kRelaxed) == 1) return;  // nothing more happens in this world
      if (!sleep(w->listener_sleeps, heard)) return;
    }
  }

  void leave() const {
    w->at_the_bell.exchange(0, kAcqRel);
    w->attended.store(0, orders.store("leave", kSeqCst));
    if (w->parked.fetch_add(0, kAcqRel) == 1 && orders.has("wake when leaving")) wake(w->listener_sleeps);
  }

  void attend_on() const {
    for (;;) {
      const uint64_t heard = w->bell.load(orders.load("heard", Order::acquire));
      pass_on(Who::Attendant);
      if (w->completed.load(orders.load("is it completed", kSeqCst)) == 1) return leave();
      if (!has_time) return leave();
      if (!sleep(w->attendant_sleeps, heard)) return;
    }
  }

  void attend() const {
    w->waiters.fetch_add(1, orders.change("wait", kSeqCst));
    uint64_t nobody = 0;
    w->attended.compare_exchange(nobody, 1, kRelaxed);
    w->at_the_bell.exchange(1, kAcqRel);
    attend_on();
  }

  // The last one to end finds the record taken, and nobody asleep who waits for that.
  void end() const {
    if (w->ended.fetch_add(1, kAcqRel) == 0) return;
    expect(w->completed.fetch_add(0, kAcqRel) == 1, "the stream sleeps on after the ring");
    expect(w->attendant_sleeps.fetch_add(0, kAcqRel) == 0, "the host thread sleeps on after the stream");
  }
};

// Nobody attends; the library's thread comes when the stream has parked.
std::vector<Program> a_listener_comes(Orders& orders) {
  const Play play{orders, std::make_shared<World>()};
  return {[play] {
            play.record();
            play.end();
          },
          [play] {
            play.w->listeners.fetch_add(1, play.orders.change("a listener comes", kSeqCst));
            play.listen();
            play.end();
          }};
}

// The library's thread sleeps, and a host thread attends: until the stream is done, or for one look.
std::vector<Program> a_host_thread_attends(Orders& orders, bool has_time) {
  const Play play{orders, std::make_shared<World>(), has_time};
  play.w->listeners = Atomic{1};
  play.w->listener_sleeps = Atomic{1};
  return {[play] {
            play.record();
            play.end();
          },
          [play] {
            play.attend();
            play.end();
          }};
}

TEST(Model, BellOfABoard) {
  expect_needs_all_its_orders({a_listener_comes,
                               [](Orders& orders) { return a_host_thread_attends(orders, true); },
                               [](Orders& orders) { return a_host_thread_attends(orders, false); }});
}

}  // namespace
}  // namespace plat::model
