// SPDX-License-Identifier: Apache-2.0
#include "inspect/check/races.h"

#include <algorithm>

namespace plat::inspect {

Races::Touch::Touch(const Access& access)
    : count(access.position.count),
      event(access.event.number),
      time_ns(access.event.time_ns),
      actor(access.position.actor),
      thread(access.event.thread),
      stack(access.event.stack),
      op(access.event.op) {}

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
  bool writes = true;  // whether what it is compared with does
  const auto compare = [&](uint64_t first, uint64_t last, const Touch& earlier) {
    if (!found && !is_after(access, since, earlier))
      found =
          Conflict{earlier.site(), streams_[earlier.actor], writes, start + (first - offset), last - first};
  };
  if (!access.asynchronous) {
    const auto known = books_.find(holder.serial);
    if (known == books_.end()) return;
    known->second.writes.for_each(offset, end, compare);
    writes = false;
    if (access.write)
      for (const Reads& reads : known->second.reads) reads.ranges.for_each(offset, end, compare);
    return;
  }
  // What it is compared with and what it takes the place of are the same: one look-up serves both.
  Book& book = books_[holder.serial];
  if (access.write) {
    book.writes.assign(offset, end, Touch(access), compare);
    writes = false;
    for (Reads& reads : book.reads) reads.ranges.erase(offset, end, compare);
  } else {
    book.writes.for_each(offset, end, compare);
    drop_reads_before(book, access, offset, end);
    book.reads_of(access.position).ranges.assign(offset, end, Touch(access));
  }
  if (book.size() > book.look_after) drop_what_is_over(book);
}

bool Races::is_after(const Access& access, uint64_t since, const Touch& earlier) const {
  if (earlier.event < since) return true;
  if (model_.order().is_before(earlier.position(), access.actor)) return true;
  // Of what was queued behind a host function nobody can say whether it waits for the function.
  const uint64_t launched = model_.launch_of_work(access.event.thread);
  return launched != 0 && earlier.event > launched;
}

// Who comes after this read comes after them too.
void Races::drop_reads_before(Book& book, const Access& access, uint64_t offset, uint64_t end) const {
  std::vector<std::pair<uint64_t, uint64_t>> before;
  for (Reads& reads : book.reads) {
    if (reads.actor == access.actor || !reads.ranges.meets(offset, end) ||
        !model_.order().is_before({reads.actor, reads.oldest}, access.actor))
      continue;
    before.clear();
    reads.ranges.for_each(offset, end, [&](uint64_t first, uint64_t last, const Touch& read) {
      if (model_.order().is_before(read.position(), access.actor)) before.emplace_back(first, last);
    });
    for (const auto& [first, last] : before) reads.ranges.erase(first, last);
  }
}

template <class Drop>
void Races::Book::erase_if(Drop&& drop) {
  writes.erase_if(drop);
  for (Reads& one : reads) {
    one.oldest = ~uint64_t{0};
    one.ranges.erase_if([&](const Touch& touch) {
      if (drop(touch)) return true;
      one.oldest = std::min(one.oldest, touch.count);
      return false;
    });
  }
  std::erase_if(reads, [](const Reads& one) { return one.ranges.size() == 0; });
}

void Races::drop_what_is_over(Book& book) const {
  book.erase_if([&](const Touch& touch) { return model_.order().is_before(touch.position(), Order::kHost); });
  if (book.size() >= kRangesMax) drop_older_half(book);
  book.look_after = std::clamp(2 * book.size(), kLookAfter, kRangesMax);
}

void Races::drop_older_half(Book& book) {
  std::vector<uint64_t> events;
  book.erase_if([&](const Touch& touch) {
    events.push_back(touch.event);
    return false;
  });
  const auto middle = events.begin() + static_cast<ptrdiff_t>(events.size() / 2);
  std::nth_element(events.begin(), middle, events.end());
  book.erase_if([&](const Touch& touch) { return touch.event <= *middle; });
}

Races::Reads& Races::Book::reads_of(const Position& position) {
  for (Reads& one : reads)
    if (one.actor == position.actor) return one;
  reads.push_back({position.actor, position.count, {}});
  return reads.back();
}

size_t Races::Book::size() const {
  size_t ranges = writes.size();
  for (const Reads& one : reads) ranges += one.ranges.size();
  return ranges;
}

void Races::forget(const Object& object) {
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
