// SPDX-License-Identifier: Apache-2.0
#include "support/interleaver.h"

#include <fmt/format.h>
#include <semaphore.h>

#include <algorithm>
#include <memory>
#include <random>
#include <thread>

namespace plat::test {

namespace {

constexpr uint64_t kMostSteps = 100'000;  // of one execution: more is a circle

// Which threads could go on, the one that had the turn first, and who did.
struct Choice {
  std::vector<uint8_t> options;
  size_t chosen = 0;
  bool is_free = true;  // whoever had the turn ended or waits: any of them goes on without a preemption
};

struct Player {
  Actor actor;
  sem_t turn{};
  bool has_ended = false;
  const void* waits_for = nullptr;
  std::thread thread;
};

class Execution {
 public:
  Execution(Trial trial, std::function<size_t(const Choice&, size_t)> choose, const Distortion& distortion)
      : distortion_(distortion), trial_(std::move(trial)), choose_(std::move(choose)) {
    for (Actor& actor : trial_.actors) {
      players_.push_back(std::make_unique<Player>());
      players_.back()->actor = std::move(actor);
      sem_init(&players_.back()->turn, 0, 0);
    }
    sem_init(&over_, 0, 0);
  }
  Execution(const Execution&) = delete;
  Execution& operator=(const Execution&) = delete;

  // What went wrong.
  std::string run();

  void step() {
    if (++steps_ > kMostSteps) return stop("goes round in circles");
    pass_on();
  }
  void wait_for(const void* lock) {
    players_[current_]->waits_for = lock;
    pass_on();
  }
  void let_go(const void* lock) {
    for (const auto& player : players_)
      if (player->waits_for == lock) player->waits_for = nullptr;
  }

  const Distortion& distortion_;
  std::vector<Choice> choices_;
  uint64_t steps_ = 0;

 private:
  void pass_on();
  void end();
  // Nobody can be unwound out of the middle of the code: the program ends here.
  [[noreturn]] void stop(const char* why);
  std::vector<uint8_t> able() const;
  std::string turns() const;

  Trial trial_;
  std::function<size_t(const Choice&, size_t)> choose_;
  std::vector<std::unique_ptr<Player>> players_;
  size_t current_ = SIZE_MAX;
  sem_t over_{};
};

thread_local Execution* t_execution = nullptr;
thread_local bool t_unbroken = false;

void wait(sem_t& semaphore) {
  while (sem_wait(&semaphore) != 0) {
  }
}

std::vector<uint8_t> Execution::able() const {
  std::vector<uint8_t> numbers;
  const auto add = [&](size_t number) {
    if (!players_[number]->has_ended && players_[number]->waits_for == nullptr)
      numbers.push_back(static_cast<uint8_t>(number));
  };
  if (current_ != SIZE_MAX) add(current_);
  for (size_t number = 0; number < players_.size(); ++number)
    if (number != current_) add(number);
  return numbers;
}

// Gives the turn to whoever is chosen, and comes back with it.
void Execution::pass_on() {
  Choice choice{able()};
  if (choice.options.empty()) stop("all wait for each other");
  choice.is_free = current_ == SIZE_MAX || choice.options.front() != current_;
  choice.chosen = choice.options.size() == 1 ? 0 : choose_(choice, choices_.size());
  const size_t before = current_;
  const size_t next = choice.options[choice.chosen];
  if (choice.options.size() > 1) choices_.push_back(std::move(choice));
  if (next == before) return;
  current_ = next;
  const bool comes_back = before != SIZE_MAX && !players_[before]->has_ended;
  sem_post(&players_[next]->turn);
  if (comes_back) wait(players_[before]->turn);
}

void Execution::end() {
  players_[current_]->has_ended = true;
  const bool all = std::all_of(players_.begin(), players_.end(), [](const auto& p) { return p->has_ended; });
  if (all)
    sem_post(&over_);
  else
    pass_on();
}

std::string Execution::turns() const {
  std::string text;
  for (size_t at = 0; at < choices_.size(); ++at)
    if (const Choice& choice = choices_[at]; choice.is_free || choice.chosen != 0)
      text += fmt::format(" {}:{}", at, choice.options[choice.chosen]);
  return text;
}

void Execution::stop(const char* why) {
  fmt::print(stderr, "a trial {}; choice:thread{}\n", why, turns());
  std::abort();
}

std::string Execution::run() {
  for (const auto& each : players_) {
    Player* const player = each.get();
    sem_t ready;
    sem_init(&ready, 0, 0);
    player->thread = std::thread([this, player, &ready] {
      player->actor.prepare();
      sem_post(&ready);
      wait(player->turn);
      t_execution = this;
      player->actor.run();
      t_execution = nullptr;
      end();
      // What the thread leaves behind it does after all trials' steps, one thread after another.
      wait(player->turn);
    });
    wait(ready);
    sem_destroy(&ready);
  }
  pass_on();
  wait(over_);
  for (const auto& player : players_) {
    sem_post(&player->turn);
    player->thread.join();
  }
  std::string violation = trial_.check();
  return violation.empty() ? "" : fmt::format("{}; choice:thread{}", violation, turns());
}

}  // namespace

Exploration explore_interleavings(const std::function<Trial()>& setup, unsigned preemptions,
                                  const Distortion& distortion) {
  Exploration outcome;
  std::vector<Choice> path;
  for (;;) {
    bool has_strayed = false;
    Execution execution(
        setup(),
        [&](const Choice& choice, size_t at) -> size_t {
          if (at >= path.size()) return 0;
          has_strayed = has_strayed || path[at].options != choice.options;
          return std::min(path[at].chosen, choice.options.size() - 1);
        },
        distortion);
    outcome.violation = execution.run();
    outcome.executions += 1;
    outcome.most_steps = std::max(outcome.most_steps, execution.steps_);
    if (has_strayed && outcome.violation.empty()) outcome.violation = "the same turns led elsewhere";
    if (!outcome.violation.empty()) return outcome;
    // On with the last choice that has another way within the bound.
    path = std::move(execution.choices_);
    const auto used = [&](size_t end) {
      return std::count_if(path.begin(), path.begin() + static_cast<long>(end),
                           [](const Choice& choice) { return !choice.is_free && choice.chosen != 0; });
    };
    size_t at = path.size();
    long taken = used(at);
    for (; at > 0; --at) {
      Choice& last = path[at - 1];
      taken -= !last.is_free && last.chosen != 0;
      if (last.chosen + 1 < last.options.size() && (last.is_free || taken < long{preemptions})) break;
    }
    if (at == 0) return outcome;
    path.resize(at);
    path.back().chosen += 1;
  }
}

Exploration sample_interleavings(const std::function<Trial()>& setup, uint64_t seed, uint64_t executions,
                                 const Distortion& distortion) {
  Exploration outcome;
  std::mt19937_64 random(seed);
  while (outcome.executions < executions && outcome.violation.empty()) {
    Execution execution(
        setup(),
        [&](const Choice& choice, size_t) -> size_t {
          if (!choice.is_free && random() % 8 != 0) return 0;
          return random() % choice.options.size();
        },
        distortion);
    outcome.violation = execution.run();
    outcome.executions += 1;
    outcome.most_steps = std::max(outcome.most_steps, execution.steps_);
  }
  return outcome;
}

Unbroken::Unbroken() { t_unbroken = true; }
Unbroken::~Unbroken() { t_unbroken = false; }

namespace steps {

bool is_scheduled() { return t_execution != nullptr; }

void step() {
  if (t_execution != nullptr && !t_unbroken) t_execution->step();
}

uint64_t stored(const void* place, uint64_t value) {
  if (t_execution == nullptr || !t_execution->distortion_.store) return value;
  return t_execution->distortion_.store(place, value);
}

uint64_t loaded(const void* place, uint64_t value) {
  if (t_execution == nullptr || !t_execution->distortion_.load) return value;
  return t_execution->distortion_.load(place, value);
}

void wait_for(const void* lock) { t_execution->wait_for(lock); }

void let_go(const void* lock) {
  if (t_execution != nullptr) t_execution->let_go(lock);
}

}  // namespace steps

}  // namespace plat::test
