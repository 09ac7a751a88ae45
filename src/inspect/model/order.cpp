// SPDX-License-Identifier: Apache-2.0
#include "inspect/model/order.h"

#include <algorithm>

namespace plat::inspect {

void Clock::raise(uint32_t actor, uint64_t count) {
  if (counts_.size() <= actor) counts_.resize(actor + 1);
  counts_[actor] = std::max(counts_[actor], count);
}

void Clock::join(const Clock& other) {
  if (counts_.size() < other.counts_.size()) counts_.resize(other.counts_.size());
  for (size_t i = 0; i < other.counts_.size(); ++i) counts_[i] = std::max(counts_[i], other.counts_[i]);
}

uint32_t Order::new_actor() {
  if (!retired_.empty()) {
    const uint32_t actor = retired_.back();
    retired_.pop_back();
    return actor;
  }
  clocks_.emplace_back();
  return static_cast<uint32_t>(clocks_.size() - 1);
}

void Order::retire(uint32_t actor) {
  join(kHost, clocks_[actor]);
  retired_.push_back(actor);
}

Position Order::act(uint32_t actor) {
  if (actor != kHost) clocks_[actor].join(clocks_[kHost]);
  const uint64_t count = clocks_[actor][actor] + 1;
  clocks_[actor].raise(actor, count);
  return {actor, count};
}

void Order::doubt(Position position) {
  std::erase_if(doubts_, [&](const Doubt& doubt) { return clocks_[kHost][doubt.actor] >= doubt.last; });
  for (Doubt& doubt : doubts_)
    if (doubt.actor == position.actor) {
      doubt.last = position.count;
      return;
    }
  doubts_.push_back({position.actor, position.count, position.count});
}

bool Order::is_doubtful(uint32_t actor) const {
  return std::any_of(doubts_.begin(), doubts_.end(), [&](const Doubt& doubt) {
    return clocks_[kHost][doubt.actor] < doubt.last && clocks_[actor][doubt.actor] >= doubt.first;
  });
}

Clock Order::everything() const {
  Clock all;
  for (const Clock& clock : clocks_) all.join(clock);
  return all;
}

}  // namespace plat::inspect
