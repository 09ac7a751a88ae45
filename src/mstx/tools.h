// SPDX-License-Identifier: Apache-2.0
// Who listens: tools that come and go while the program calls, and how the two keep out of each other's way.
// A newcomer is told what lives before any call goes to it, and one that leaves is gone from every call when
// detach returns.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <thread>

#include "mstx/board.h"
#include "mstx/tool.h"

namespace plat::mstx {

using Counter = std::atomic<int64_t>;

// A thread in the sections of one kind. They nest, and only the outermost counts: so a tool that calls mstx
// while it is called never waits for a gate that is waiting for it.
struct Passage {
  uint32_t nesting;
  Counter* counter;  // nullptr: it is not counted

  void leave() {
    if (--nesting == 0) counter->fetch_sub(1, std::memory_order_release);
  }
};

// What a thread is in the middle of.
struct ThreadState {
  uint32_t stripe;  // which counters it uses, + 1; 0 before the first use
  Passage reading;
  Passage changing;
  uint32_t inside_tools;  // bit i: tool slot i is on this thread's stack
  uint32_t controlling;   // nesting of attaching and detaching
  uint32_t calls;         // since it last looked whether who asked for a recorder lives
  bool starting;          // it is looking for tools for the first time
  bool inside() const { return reading.nesting + changing.nesting != 0; }
};

inline ThreadState& this_thread() {
  // Initial-exec: these few bytes fit the reserve of loaders, and a call must not pay for a lookup.
  static constinit thread_local ThreadState state __attribute__((tls_model("initial-exec"))){};
  return state;
}

class Counters {
 public:
  Counter& mine() {
    static std::atomic<uint32_t> threads{0};
    uint32_t& stripe = this_thread().stripe;
    if (stripe == 0) stripe = threads.fetch_add(1, std::memory_order_relaxed) % stripes_.size() + 1;
    return stripes_[stripe - 1].count;
  }
  // A tool may be slow, so waiting gives up the processor and soon sleeps.
  void wait_for_none() {
    for (Stripe& stripe : stripes_) {
      for (int turn = 0; stripe.count.load(std::memory_order_seq_cst) != 0; ++turn) {
        if (turn < 64)
          std::this_thread::yield();
        else
          std::this_thread::sleep_for(std::chrono::microseconds(50));
      }
    }
  }

 private:
  struct alignas(64) Stripe {
    Counter count{0};
  };
  std::array<Stripe, 64> stripes_{};
};

// A call that only passes through (a mark, a range) is a read section. It costs two increments on a counter
// that few threads share. Detaching waits until every section has ended that may still see the old tools; new
// ones are not held up. Counters come in two sets, and sections use the set that the epoch points at: waiting
// turns the epoch and drains the other set, twice, because a thread may be late in entering the set it has
// read.
class ReadSections {
 public:
  void enter(Passage& reading) {
    if (reading.nesting++ != 0) return;
    reading.counter = &sets_[epoch_.load(std::memory_order_relaxed) & 1].mine();
    // Sequentially consistent, as is the store that publishes tools: either the publisher sees this section,
    // or this section sees what was published.
    reading.counter->fetch_add(1, std::memory_order_seq_cst);
  }
  // Returns when every section that was open at the call has ended.
  void wait_for_all() {
    for (int turn = 0; turn < 2; ++turn)
      sets_[epoch_.fetch_xor(1, std::memory_order_seq_cst) & 1].wait_for_none();
  }

 private:
  std::atomic<uint32_t> epoch_{0};
  Counters sets_[2];
};

// A call that changes what lives (a region, a heap, a domain) passes the gate. Attaching and detaching close
// it for as long as a newcomer is told what lives, so that it hears of each thing exactly once.
class Gate {
 public:
  void enter(Passage& changing) {
    if (changing.nesting++ != 0) return;
    changing.counter = &past_.mine();
    for (;;) {
      changing.counter->fetch_add(1, std::memory_order_seq_cst);
      if (!closed_.load(std::memory_order_seq_cst)) return;
      changing.counter->fetch_sub(1, std::memory_order_release);
      closed_.wait(true, std::memory_order_acquire);
    }
  }
  // Closes the gate and waits until nobody is past it; the closing thread itself may still pass.
  void lock() {
    closed_.store(true, std::memory_order_seq_cst);
    past_.wait_for_none();
    this_thread().changing = {1, nullptr};  // what it calls now is not counted
  }
  void unlock() {
    this_thread().changing = {};
    closed_.store(false, std::memory_order_seq_cst);
    closed_.notify_all();
  }

 private:
  Counters past_;
  std::atomic<bool> closed_{false};
};

enum class Mode : int {
  Fresh,     // no call was made yet: where tools come from has not been looked at
  Starting,  // a thread is looking
  Idle,      // nobody listens and nothing is remembered
  Busy,
};

extern std::atomic<Mode> g_mode;

class Tools {
 public:
  // True when a call has somebody to go to. The first call looks for tools; others wait for it.
  bool start();
  // Something was registered that nobody heard of.
  void miss();
  // Says again, on the board, whether anybody listens: who asks for something has said that somebody does.
  void settle();

  // Each enters a section. The tools of the set are there to the end of it.
  ToolSet enter_reading() {
    reads_.enter(this_thread().reading);
    return tools_.load(std::memory_order_seq_cst);
  }
  ToolSet enter_changing() {
    gate_.enter(this_thread().changing);
    return tools_.load(std::memory_order_seq_cst);
  }

  // A library is unloaded after the tool is gone, where that is safe.
  int attach(mstxInitInjectionFunc init, const char* name, void* library, platMstxToolId_t* out_id);
  int detach(platMstxToolId_t id);
  int remember(bool on);

  bool remembers() const { return remember_.load(std::memory_order_relaxed); }

  // After fork, which does not wait for attaching: that may take long, and a tool may fork while it starts.
  // In the child the threads that called are gone, and one that was attaching never gets to the end of it.
  void only_this_thread();

 private:
  class Control;

  void set_mode();
  // Tells a newcomer what was there before it. The gate is closed.
  void tell_everything(const Tool& tool) const;
  // The end of a tool that no call goes to.
  static void let_go(Tool& tool);

  std::recursive_mutex control_;  // attach and detach; a tool may attach another from its own start
  ReadSections reads_;
  Gate gate_;
  std::atomic<bool> remember_{false};
  std::atomic<bool> missed_{false};
  std::atomic<ToolSet> tools_;
  uint32_t next_slot_ = 0;  // slots rest before they are taken again; under control_, as is what follows
  platMstxToolId_t last_id_ = 0;
};

// Where tools come from when a program makes its first call (discover.cpp).
void attach_found_tools();
// nullptr, and a line on stderr, if it does not load.
void* load_tool(const char* path);
// The tool in a library, which is unloaded if it cannot be attached.
int attach_library(void* library, const char* path, platMstxToolId_t* out_id);

}  // namespace plat::mstx
