// SPDX-License-Identifier: Apache-2.0
#include "stream/notify.h"

#include <algorithm>
#include <utility>

#include "rules/rules.h"
#include "stream/stream.h"

namespace plat::stream {

namespace {

uint32_t changed(uint32_t before, Notify::Change change, uint32_t value) {
  switch (change) {
    case Notify::Change::Set:
      return value;
    case Notify::Change::Add:
      return before + value;
    case Notify::Change::Or:
      return before | value;
    case Notify::Change::And:
      return before & value;
  }
  return before;
}

bool is_as_wished(uint32_t now, const Notify::Awaited& awaited) {
  switch (awaited.wish) {
    case Notify::Wish::Less:
      return now < awaited.value;
    case Notify::Wish::Equal:
      return now == awaited.value;
    case Notify::Wish::Greater:
      return now > awaited.value;
    case Notify::Wish::NotLess:
      return now >= awaited.value;
    case Notify::Wish::Bits:
      return (now & awaited.value) == awaited.value;
  }
  return false;
}

}  // namespace

Notify::Notify(NotifyId id, std::shared_ptr<HeldPlace> place)
    : id_(id),
      device_(static_cast<int>(place->device())),
      use_(NotifyUse::Plain),
      imported_(true),
      value_(&place->board().value(place->index())),
      place_(std::move(place)) {}

void Notify::change(Change change, uint32_t value) {
  {
    const std::lock_guard lock(mutex_);
    uint32_t before = value_->load();
    while (!value_->compare_exchange_weak(before, changed(before, change, value))) {
    }
    if (imported_) place_->board().ring();
  }
  wake_waiters();
}

bool Notify::take(const Awaited& awaited) {
  const std::lock_guard lock(mutex_);
  uint32_t now = value_->load();
  do {
    if (!is_as_wished(now, awaited)) return false;
  } while (awaited.clear && !value_->compare_exchange_weak(now, 0));
  return true;
}

bool Notify::park(const std::shared_ptr<Stream>& stream) {
  const std::lock_guard lock(mutex_);
  if (std::find(waiters_.begin(), waiters_.end(), stream) == waiters_.end()) waiters_.push_back(stream);
  return place_ == nullptr || place_->board().park(stream);
}

void Notify::wake_waiters() {
  std::vector<std::shared_ptr<Stream>> waiters;
  {
    const std::lock_guard lock(mutex_);
    waiters.swap(waiters_);
  }
  // Outside of the lock: a woken stream may run at once, in this thread, and look at the notify.
  for (auto& stream : waiters) stream->wake();
}

Result<std::shared_ptr<HeldPlace>> Notify::show(const std::shared_ptr<Board>& board) {
  {
    const std::lock_guard lock(mutex_);
    if (place_) return place_;
    place_ = HeldPlace::take(board, Board::Kind::Notify, static_cast<uint32_t>(device_));
    if (!place_)
      return fail(RuleId::NotifyLimit, "notify", "{} notifies are shown to other processes",
                  Board::kNotifies);
    value_ = &board->value(place_->index());
    value_->store(own_value_.load());
  }
  wake_waiters();  // so that they wait at the board, too
  return place();
}

std::shared_ptr<HeldPlace> Notify::place() const {
  const std::lock_guard lock(mutex_);
  return place_;
}

void Notify::end() {
  ended_.store(true);
  wake_waiters();
}

}  // namespace plat::stream
