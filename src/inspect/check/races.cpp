// SPDX-License-Identifier: Apache-2.0
#include "inspect/check/races.h"

#include <algorithm>

namespace plat::inspect {

Races::Touch::Touch(const Access& access)
    : count_low(static_cast<uint32_t>(access.position.count)),
      event_low(static_cast<uint32_t>(access.event.number)),
      time_low(static_cast<uint32_t>(access.event.time_ns)),
      count_high(static_cast<uint8_t>(access.position.count >> 32)),
      actor(access.position.actor & 0xffffff),
      event_high(static_cast<uint8_t>(access.event.number >> 32)),
      thread(access.event.thread & 0xffffff),
      time_high(static_cast<uint32_t>(access.event.time_ns >> 32) & 0xffffff),
      operation(static_cast<uint8_t>(access.event.op)),
      stack(access.event.stack) {}

std::optional<Races::Conflict> Races::note(const Access& access, uint64_t since) {
  std::optional<Conflict> found;
  if (model_.order().is_doubtful(access.actor)) return found;
  if (streams_.size() <= access.actor) streams_.resize(access.actor + 1);
  streams_[access.actor] = access.stream;
  for (uint64_t row = 0; row < access.rows; ++row)
    model_.for_each_storage(access.address + row * access.pitch, access.row_size(),
                            [&](const Object& holder, uint64_t offset, uint64_t start, uint64_t size) {
                              note_part(access, since, holder, offset, start, size, found);
                            });
  return found;
}

void Races::note_part(const Access& access, uint64_t since, const Object& holder, uint64_t offset,
                      uint64_t start, uint64_t size, std::optional<Conflict>& found) {
  const uint64_t end = offset + size;
  const auto tell = [&](uint64_t first, uint64_t last, const Touch& earlier, bool writes) {
    found = Conflict{earlier.site(), streams_[earlier.actor], writes, start + (first - offset), last - first};
  };
  const auto compare_write = [&](uint64_t first, uint64_t last, const Touch& earlier) {
    if (!found && !is_after(access, since, earlier)) tell(first, last, earlier, true);
  };
  const auto compare_read = [&](uint64_t first, uint64_t last, const Touch& earlier) {
    if (found && (found->earlier_writes || found->earlier.event >= earlier.event())) return;
    if (!is_after(access, since, earlier)) tell(first, last, earlier, false);
  };
  if (!access.asynchronous) {
    const auto known = books_.find(holder.serial);
    if (known == books_.end()) return;
    const Book& book = known->second;
    book.writes.for_each(offset, end, compare_write);
    if (!access.write) return;
    book.reads.for_each(offset, end, compare_read);
    return;
  }
  Book& book = book_of(holder);
  if (access.write) {
    // What it is compared with and what it takes the place of are the same: one look-up serves both.
    book.writes.assign(offset, end, Touch(access), compare_write);
    book.reads.erase(offset, end, compare_read);
  } else {
    book.writes.for_each(offset, end, compare_write);
    book.reads.assign(access.actor, offset, end, Touch(access));
  }
  if (book.size() > book.look_after) drop_what_is_over(book);
}

Races::Book& Races::book_of(const Object& holder) {
  if (last_.second == nullptr || last_.first != holder.serial)
    last_ = {holder.serial, &books_[holder.serial]};
  return *last_.second;
}

bool Races::is_after(const Access& access, uint64_t since, const Touch& earlier) const {
  if (earlier.event() < since) return true;
  if (model_.order().is_before(earlier.position(), access.actor)) return true;
  // Of what was queued behind a host function nobody can say whether it waits for the function.
  const uint64_t launched = model_.launch_of_work(access.event.thread);
  return launched != 0 && earlier.event() > launched;
}

template <class Drop>
void Races::Book::erase_if(Drop&& drop) {
  writes.erase_if(drop);
  reads.erase_if(drop);
}

void Races::drop_what_is_over(Book& book) const {
  book.erase_if([&](const Touch& touch) { return model_.order().is_before(touch.position(), Order::kHost); });
  if (book.size() >= kRangesMax) drop_older_half(book);
  book.look_after = std::clamp(2 * book.size(), kLookAfter, kRangesMax);
}

void Races::drop_older_half(Book& book) {
  std::vector<uint64_t> events;
  book.erase_if([&](const Touch& touch) {
    events.push_back(touch.event());
    return false;
  });
  const auto middle = events.begin() + static_cast<ptrdiff_t>(events.size() / 2);
  std::nth_element(events.begin(), middle, events.end());
  book.erase_if([&](const Touch& touch) { return touch.event() <= *middle; });
}

void Races::forget(const Object& object) {
  last_ = {};
  if (object.kind != Kind::Mapping) {
    if (object.mappings == 0) books_.erase(object.serial);
    return;
  }
  const Object& physical = model_.object(object.parent);
  if (physical.mappings == 0 && !physical.lives()) books_.erase(physical.serial);
}

size_t Races::size() const {
  size_t ranges = 0;
  for (const auto& [serial, book] : books_) ranges += book.size();
  return ranges;
}

}  // namespace plat::inspect
