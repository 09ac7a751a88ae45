// SPDX-License-Identifier: Apache-2.0
#include "device/fault.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <thread>
#include <utility>

#include "base/text.h"
#include "device/config.h"
#include "os/process.h"
#include "os/thread_sanitizer.h"
#include "rules/rules.h"

namespace plat::device::fault {

namespace {

thread_local std::chrono::microseconds t_delay{};
thread_local bool t_breaks = false;

// A number in [0, 1) that depends on nothing but its arguments, so that threads do not change what comes.
double chance_of(uint64_t seed, uint64_t clause, uint64_t count) {
  uint64_t x = seed + clause * 0x9E3779B97F4A7C15 + count * 0xD1B54A32D192ED03;
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9;
  x = (x ^ x >> 27) * 0x94D049BB133111EB;
  x ^= x >> 31;
  return static_cast<double>(x >> 11) * 0x1.0p-53;
}

}  // namespace

struct Armed {
  Clause clause;
  std::atomic<uint64_t> calls{0};
  std::atomic<bool> tripped{false};
  std::atomic<uint64_t> shrunk{0};  // a bit for each device that has lost memory to it
};

class Plan {
 public:
  Plan(const std::vector<Clause>& clauses, uint64_t seed)
      : seed_(seed), clauses_(std::make_unique<Armed[]>(clauses.size())), size_(clauses.size()) {
    for (size_t i = 0; i < size_; ++i) clauses_[i].clause = clauses[i];
  }

  std::optional<Failure> begin(const char* function) {
    std::optional<Failure> failure;
    for (size_t i = 0; i < size_; ++i) {
      Armed& armed = clauses_[i];
      const Clause& clause = armed.clause;
      if (!clause.applies_to(function)) continue;
      const uint64_t count = armed.calls.fetch_add(1) + 1;
      if (!fires(armed, i, count)) continue;
      if (clause.effect == Effect::Kill) os::kill_process();
      if (clause.effect == Effect::Delay) t_delay += clause.delay;
      if (clause.effect == Effect::Break) t_breaks = true;
      if (clause.effect == Effect::Fail && !failure)
        failure = Failure{clause.code, Error{RuleId::FaultInjected, "",
                                             fmt::format("{}, fired at call {}", name(i), count)}};
    }
    return failure;
  }

  // Delays add up; of the others the first one counts.
  std::optional<Disturbance> begin_answer(uint32_t server) {
    std::optional<Disturbance> found;
    for (size_t i = 0; i < size_; ++i) {
      Armed& armed = clauses_[i];
      const Clause& clause = armed.clause;
      if (!clause.of_servers || (clause.server != kAnyServer && clause.server != server)) continue;
      const uint64_t count = armed.calls.fetch_add(1) + 1;
      if (!fires(armed, i, count)) continue;
      if (!found) found = Disturbance{Effect::Delay, {}, ""};
      found->delay += clause.delay;
      if (found->effect != Effect::Delay) continue;
      found->effect = clause.effect;
      found->why = fmt::format("{}, fired at answer {} of server {}", name(i), count, server);
    }
    return found;
  }

  Result<> allow(uint32_t device, uint64_t bytes, uint64_t used_bytes) {
    const uint64_t total = allocated_bytes_[device].fetch_add(bytes) + bytes;
    for (size_t i = 0; i < size_; ++i) {
      const Clause& clause = clauses_[i].clause;
      if (clause.effect != Effect::Shrink || total <= clause.after_bytes) continue;
      if (bytes <= clause.to_bytes && used_bytes <= clause.to_bytes - bytes) continue;
      clauses_[i].shrunk |= uint64_t{1} << device;
      allocated_bytes_[device].fetch_sub(bytes);
      return fail(RuleId::FaultCapacity, "size", "{}: asked for {}, {} of {} are in use", name(i),
                  format_bytes(bytes), format_bytes(used_bytes), format_bytes(clause.to_bytes));
    }
    return {};
  }

  uint64_t capacity_left(uint32_t device, uint64_t capacity_bytes) const {
    for (size_t i = 0; i < size_; ++i) {
      const Armed& armed = clauses_[i];
      if (armed.clause.effect == Effect::Shrink &&
          ((armed.shrunk >> device & 1) != 0 || allocated_bytes_[device] > armed.clause.after_bytes))
        capacity_bytes = std::min(capacity_bytes, armed.clause.to_bytes);
    }
    return capacity_bytes;
  }

 private:
  std::string name(size_t index) const {
    return fmt::format("clause {} of the fault plan, '{}'", index + 1, clauses_[index].clause.text);
  }

  bool fires(Armed& armed, size_t index, uint64_t count) const {
    const Clause& clause = armed.clause;
    if (clause.effect == Effect::Shrink) return false;
    if (clause.lasts == Lasts::Sticky && armed.tripped) return true;
    const bool now = clause.when == When::Nth     ? count == clause.count
                     : clause.when == When::Every ? count % clause.count == 0
                                                  : chance_of(seed_, index, count) < clause.chance;
    if (!now) return false;
    const bool was_tripped = armed.tripped.exchange(true);
    return clause.lasts != Lasts::Once || !was_tripped;
  }

  const uint64_t seed_;
  const std::unique_ptr<Armed[]> clauses_;
  const size_t size_;
  std::array<std::atomic<uint64_t>, device::kMaxDevices> allocated_bytes_{};  // of each device
};

std::atomic<Plan*> active{nullptr};

void arm(const std::vector<Clause>& clauses, std::optional<uint64_t> seed) {
  // An earlier plan stays where it is: another thread may be reading it.
  static auto* const plans = new std::vector<std::unique_ptr<Plan>>;
  active = nullptr;
  t_breaks = false;
  // Under ThreadSanitizer all calls go the long way, with a plan of nothing.
  if (clauses.empty() && !os::tsan::is_in_program()) return;
  const bool random = std::any_of(clauses.begin(), clauses.end(),
                                  [](const Clause& clause) { return clause.when == When::Chance; });
  const uint64_t chosen = seed.value_or(os::random_number() >> 32);
  // Whatever the log is set to: without the seed the run could not be repeated.
  if (random)
    std::fprintf(stderr, "plat: faults come by seed %llu (PLAT_SEED=%llu repeats this run)\n",
                 static_cast<unsigned long long>(chosen), static_cast<unsigned long long>(chosen));
  active = plans->emplace_back(std::make_unique<Plan>(clauses, chosen)).get();
}

std::optional<Failure> begin_call(const char* function) {
  Plan* plan = active.load(std::memory_order_acquire);
  return plan != nullptr ? plan->begin(function) : std::nullopt;
}

std::optional<Disturbance> begin_answer(uint32_t server) {
  Plan* plan = active.load(std::memory_order_acquire);
  return plan != nullptr ? plan->begin_answer(server) : std::nullopt;
}

std::optional<std::chrono::microseconds> take_delay() {
  if (t_delay.count() == 0) return std::nullopt;
  return std::exchange(t_delay, {});
}

bool take_break() { return std::exchange(t_breaks, false); }

void end_call() {
  if (const auto delay = take_delay()) std::this_thread::sleep_for(*delay);
}

Result<> allow_allocation(uint32_t device, uint64_t bytes, uint64_t used_bytes) {
  Plan* plan = active.load(std::memory_order_acquire);
  return plan != nullptr ? plan->allow(device, bytes, used_bytes) : Result<>{};
}

uint64_t capacity_left(uint32_t device, uint64_t capacity_bytes) {
  const Plan* plan = active.load(std::memory_order_acquire);
  return plan != nullptr ? plan->capacity_left(device, capacity_bytes) : capacity_bytes;
}

}  // namespace plat::device::fault
