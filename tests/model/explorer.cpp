// SPDX-License-Identifier: Apache-2.0
#include "model/explorer.h"

#include <ucontext.h>

#include <algorithm>
#include <array>
#include <memory>
#include <unordered_set>

namespace plat::model {

namespace {

constexpr size_t kMaxThreads = 4;
constexpr size_t kMaxPlaces = 28;
constexpr size_t kStackBytes = 128 * 1024;

bool acquires(Order order) {
  return order == Order::acquire || order == Order::acq_rel || order == Order::seq_cst;
}
bool releases(Order order) {
  return order == Order::release || order == Order::acq_rel || order == Order::seq_cst;
}

// For each atomic the index of the oldest value that may be read; for each thread how many of its accesses to
// plain memory come before.
struct View {
  std::array<uint8_t, kMaxPlaces + kMaxThreads> at{};
  void take(const View& other) {
    for (size_t i = 0; i < at.size(); ++i) at[i] = std::max(at[i], other.at[i]);
  }
  // Of atomics alone: that makes no access to plain memory come before another.
  void take_values(const View& other) {
    for (size_t i = 0; i < kMaxPlaces; ++i) at[i] = std::max(at[i], other.at[i]);
  }
};

struct Message {
  uint64_t value;
  View view;
};

struct Place {
  std::vector<Message> history;                        // of an atomic
  uint8_t sequential = 0;                              // the last seq_cst store
  std::array<uint8_t, kMaxThreads> reads{}, writes{};  // of plain memory: the last of each thread
};

struct Thread {
  Program program;
  View view;
  View released;      // by a fence: goes with every later store
  View offered;       // with relaxed loads: a fence takes it
  uint64_t seen = 0;  // a digest of all that it has read: with the program, its whole state
  bool ended = false;
  ucontext_t context{};
};

struct Digest {
  uint64_t value = 0xcbf29ce484222325;
  void add(uint64_t more) {
    value ^= more + 0x9e3779b97f4a7c15 + (value << 6) + (value >> 2);
    value *= 0xff51afd7ed558ccd;
    value ^= value >> 32;
  }
  void add(const View& view) {
    for (const uint8_t at : view.at) add(at);
  }
};

// One execution, and the path of choices that led to it.
class World {
 public:
  struct Choice {
    uint32_t taken, count;
  };

  std::vector<Choice> path;
  std::unordered_set<uint64_t> known;
  std::string violation;
  View fenced;  // what the seq_cst fences so far have seen

  void run(const std::function<std::vector<Program>()>& setup) {
    places_.clear();
    threads_.clear();
    fenced = {};
    position_ = 0;
    current_ = kMaxThreads;
    for (Program& program : setup()) {
      auto thread = std::make_unique<Thread>();
      thread->program = std::move(program);
      threads_.push_back(std::move(thread));
    }
    for (size_t i = 0; i < threads_.size(); ++i) begin(i);
    while (violation.empty()) {
      std::vector<size_t> able;
      for (size_t i = 0; i < threads_.size(); ++i)
        if (!threads_[i]->ended) able.push_back(i);
      if (able.empty()) return;
      if (position_ == path.size() && !known.insert(digest()).second) return;
      current_ = able[choose(static_cast<uint32_t>(able.size()))];
      swapcontext(&scheduler_, &threads_[current_]->context);
    }
  }

  // The next path in order; false when all have been taken.
  bool advance() {
    while (!path.empty() && path.back().taken + 1 == path.back().count) path.pop_back();
    if (path.empty()) return false;
    path.back().taken += 1;
    return true;
  }

  // A thread waits for its turn.
  Thread& step() {
    Thread& thread = *threads_[current_];
    swapcontext(&thread.context, &scheduler_);
    return thread;
  }
  size_t current() const { return current_; }
  std::vector<std::unique_ptr<Thread>>& threads() { return threads_; }
  Place& place(uint32_t index) { return places_[index]; }
  uint32_t add_place() {
    if (places_.size() == kMaxPlaces) std::abort();
    places_.emplace_back();
    return static_cast<uint32_t>(places_.size() - 1);
  }

  uint32_t choose(uint32_t count) {
    if (count == 1) return 0;
    if (position_ == path.size()) path.push_back({0, count});
    return path[position_++].taken;
  }

 private:
  static void enter(unsigned index) {
    World& world = *the_world;
    Thread& thread = *world.threads_[index];
    thread.program();
    thread.ended = true;
    swapcontext(&thread.context, &world.scheduler_);
  }
  // Runs the thread up to its first step, which touches nothing.
  void begin(size_t index) {
    static std::array<std::unique_ptr<char[]>, kMaxThreads> stacks;
    if (stacks[index] == nullptr) stacks[index] = std::make_unique<char[]>(kStackBytes);
    Thread& thread = *threads_[index];
    getcontext(&thread.context);
    thread.context.uc_stack.ss_sp = stacks[index].get();
    thread.context.uc_stack.ss_size = kStackBytes;
    thread.context.uc_link = nullptr;
    current_ = index;
    makecontext(&thread.context, reinterpret_cast<void (*)()>(enter), 1, static_cast<unsigned>(index));
    swapcontext(&scheduler_, &thread.context);
  }
  uint64_t digest() const {
    Digest digest;
    for (const auto& thread : threads_) {
      digest.add(thread->seen);
      digest.add(thread->ended);
      digest.add(thread->view);
      digest.add(thread->released);
      digest.add(thread->offered);
    }
    digest.add(fenced);
    for (const Place& place : places_) {
      digest.add(place.history.size());
      digest.add(place.sequential);
      for (const Message& message : place.history) {
        digest.add(message.value);
        digest.add(message.view);
      }
      for (size_t i = 0; i < kMaxThreads; ++i) digest.add(uint64_t{place.reads[i]} << 8 | place.writes[i]);
    }
    return digest.value;
  }

  std::vector<Place> places_;
  std::vector<std::unique_ptr<Thread>> threads_;
  ucontext_t scheduler_{};
  size_t position_ = 0;
  size_t current_ = kMaxThreads;

 public:
  static inline World* the_world = nullptr;
};

World& world() { return *World::the_world; }

uint64_t saw(Thread& thread, uint64_t value) {
  Digest digest;
  digest.add(thread.seen);
  digest.add(value);
  thread.seen = digest.value;
  return value;
}

void take(Thread& thread, const Message& message, Order order) {
  acquires(order) ? thread.view.take(message.view) : thread.offered.take(message.view);
}

void put(uint32_t place, Thread& thread, uint64_t value, Order order, const View* sequence) {
  Place& at = world().place(place);
  const auto index = static_cast<uint8_t>(at.history.size());
  thread.view.at[place] = index;
  Message message{value, {}};
  message.view.at[place] = index;
  message.view.take(thread.released);
  if (releases(order)) message.view.take(thread.view);
  if (sequence != nullptr) message.view.take(*sequence);  // an exchange goes on with the release it read
  at.history.push_back(message);
  if (order == Order::seq_cst) at.sequential = index;
}

// Reads the latest value and writes another.
template <class Change>
uint64_t change(uint32_t place, Order order, Change change) {
  Thread& thread = world().step();
  const Message last = world().place(place).history.back();
  thread.view.at[place] = static_cast<uint8_t>(world().place(place).history.size() - 1);
  take(thread, last, order);
  uint64_t value = last.value;
  if (change(value)) put(place, thread, value, order, &last.view);
  return saw(thread, last.value);
}

}  // namespace

Atomic::Atomic(uint64_t value) : place_(world().add_place()) {
  world().place(place_).history.push_back({value, {}});
}

uint64_t Atomic::load(Order order) const {
  Thread& thread = world().step();
  const Place& at = world().place(place_);
  uint8_t oldest = thread.view.at[place_];
  if (order == Order::seq_cst) oldest = std::max(oldest, at.sequential);
  const auto newest = static_cast<uint8_t>(at.history.size() - 1);
  const auto index = static_cast<uint8_t>(newest - world().choose(newest - oldest + 1u));
  thread.view.at[place_] = index;
  const Message& message = at.history[index];
  take(thread, message, order);
  return saw(thread, message.value);
}

void Atomic::store(uint64_t value, Order order) {
  Thread& thread = world().step();
  put(place_, thread, value, order, nullptr);
  saw(thread, 0);
}

uint64_t Atomic::exchange(uint64_t value, Order order) {
  return change(place_, order, [&](uint64_t& word) {
    word = value;
    return true;
  });
}

uint64_t Atomic::fetch_add(uint64_t value, Order order) {
  return change(place_, order, [&](uint64_t& word) {
    word += value;
    return true;
  });
}

bool Atomic::compare_exchange(uint64_t& expected, uint64_t value, Order order) {
  bool done = false;
  expected = change(place_, order, [&](uint64_t& word) {
    done = word == expected;
    word = value;
    return done;
  });
  return done;
}

Plain::Plain() : place_(world().add_place()) {}

void Plain::read() const {
  Thread& thread = *world().threads()[world().current()];
  Place& at = world().place(place_);
  for (size_t i = 0; i < kMaxThreads; ++i)
    if (at.writes[i] > thread.view.at[kMaxPlaces + i]) expect(false, "a thread reads what another writes");
  at.reads[world().current()] = ++thread.view.at[kMaxPlaces + world().current()];
}

void Plain::write() {
  Thread& thread = *world().threads()[world().current()];
  Place& at = world().place(place_);
  for (size_t i = 0; i < kMaxThreads; ++i)
    if (std::max(at.writes[i], at.reads[i]) > thread.view.at[kMaxPlaces + i])
      expect(false, "a thread writes what another uses");
  at.writes[world().current()] = ++thread.view.at[kMaxPlaces + world().current()];
}

void fence(Order order) {
  Thread& thread = world().step();
  if (acquires(order)) thread.view.take(thread.offered);
  if (order == Order::seq_cst) {
    world().fenced.take_values(thread.view);
    thread.view.take_values(world().fenced);
  }
  if (releases(order)) thread.released = thread.view;
  saw(thread, 0);
}

void process_barrier() {
  Thread& thread = world().step();
  View passed = thread.view;
  for (auto& other : world().threads()) {
    other->view.take(thread.view);
    passed.take(other->view);
  }
  thread.view = passed;
  saw(thread, 0);
}

void expect(bool condition, const char* what) {
  if (!condition && world().violation.empty()) world().violation = what;
}

Outcome explore(const std::function<std::vector<Program>()>& setup) {
  World world;
  World::the_world = &world;
  Outcome outcome;
  do {
    world.run(setup);
    outcome.executions += 1;
  } while (world.violation.empty() && world.advance());
  outcome.violation = world.violation;
  outcome.states = world.known.size();
  World::the_world = nullptr;
  return outcome;
}

}  // namespace plat::model
