// SPDX-License-Identifier: Apache-2.0
#include "inspect/check/races.h"

#include <algorithm>

namespace plat::inspect {

std::optional<Races::Conflict> Races::note(const Access& access, uint64_t since) {
  std::optional<Conflict> found;
  if (model_.order().is_doubtful(access.actor)) return found;
  for (uint64_t row = 0; row < access.rows; ++row)
    model_.for_each_storage(access.address + row * access.pitch, access.row_size(),
                            [&](const Object& holder, uint64_t offset, uint64_t start, uint64_t size) {
                              note_part(access, since, holder, offset, start, size, found);
                            });
  return found;
}

void Races::note_part(const Access& access, uint64_t since, const Object& holder, uint64_t offset,
                      uint64_t start, uint64_t size, std::optional<Conflict>& found) {
  const auto known = books_.find(holder.serial);
  if (known != books_.end() && !found)
    known->second.ranges.for_each(
        offset, offset + size, [&](uint64_t first, uint64_t last, const Bytes& bytes) {
          const auto compare = [&](const Touch& earlier, bool writes) {
            if (!found && !is_after(access, since, earlier))
              found = Conflict{earlier, writes, start + (first - offset), last - first};
          };
          if (bytes.write) compare(*bytes.write, true);
          if (access.write) bytes.for_each_read([&](const Touch& read) { compare(read, false); });
        });
  if (!access.asynchronous) return;
  remember(known != books_.end() ? known->second : books_[holder.serial], access, offset, offset + size);
}

bool Races::is_after(const Access& access, uint64_t since, const Touch& earlier) const {
  if (earlier.site.event < since) return true;
  // Of what was queued behind a host function nobody can say whether it waits for the function.
  const uint64_t launched = model_.launch_of_work(access.event.thread);
  if (launched != 0 && earlier.site.event > launched) return true;
  return model_.order().is_before(earlier.position, access.actor);
}

void Races::remember(Book& book, const Access& access, uint64_t offset, uint64_t end) {
  const Shared touch(Touch{access.position, Site::of(access.event), access.stream});
  if (access.write) {
    Bytes bytes;
    bytes.write = touch;
    book.ranges.assign(offset, end, std::move(bytes));
  } else {
    book.ranges.update(offset, end, [&](Bytes& bytes) {
      bytes.add_read(
          touch, [&](const Touch& read) { return model_.order().is_before(read.position, access.actor); });
    });
  }
  if (book.ranges.size() > book.look_after) drop_what_is_over(book);
}

void Races::drop_what_is_over(Book& book) const {
  const auto is_over = [&](const Touch& touch) {
    return model_.order().is_before(touch.position, Order::kHost);
  };
  book.ranges.erase_if([&](const Bytes& bytes) {
    bool all = !bytes.write || is_over(*bytes.write);
    bytes.for_each_read([&](const Touch& read) { all = all && is_over(read); });
    return all;
  });
  if (book.ranges.size() > kRangesMax) book.ranges.clear();
  book.look_after = std::max(kLookAfter, 2 * book.ranges.size());
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
  for (const auto& [serial, book] : books_) ranges += book.ranges.size();
  return ranges;
}

}  // namespace plat::inspect
