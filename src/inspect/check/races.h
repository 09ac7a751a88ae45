// SPDX-License-Identifier: Apache-2.0
// Accesses to the same bytes, at least one of them a write, that nothing orders.
//
// For every byte, by ranges: who wrote it last, and who has read it since. Only queued work is remembered:
// what the host does itself is over when its call returns, so whatever comes later comes after it. What the
// host has waited for can race with nothing that comes later, and is dropped when a map grows.
//
// Of several reads that a write races with, the last one is told.
#pragma once

#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "inspect/model/model.h"
#include "inspect/model/owner_ranges.h"
#include "inspect/model/range_table.h"

namespace plat::inspect {

class Races {
 public:
  struct Conflict {
    Site earlier;
    uint64_t earlier_stream = 0;
    bool earlier_writes = false;
    uint64_t start = 0;  // the bytes in common
    uint64_t size = 0;
  };

  explicit Races(const Model& model) : model_(model) {}

  // An earlier access that this one races with, if there is one; then remembers this one. Accesses before the
  // event `since` were to what had the address before, and are the business of another rule.
  std::optional<Conflict> note(const Access& access, uint64_t since);
  // Its bytes are no longer there.
  void forget(const Object& object);

  // Ranges of one block. Where there are more, with none of them known to be over, the older half is
  // forgotten: that may miss a race.
  static constexpr size_t kRangesMax = size_t{1} << 17;
  // Fewer of them are not worth a look.
  static constexpr size_t kLookAfter = 512;
  // Ranges of all blocks.
  size_t size() const;

 private:
  // One access, as it is remembered: a Position and a Site, packed, because there may be many. No trace has a
  // million million events, or lasts for years; threads have numbers of the system's, which are below 2^22.
  struct Touch {
    uint32_t count_low, event_low, time_low;
    uint32_t count_high : 8, actor : 24;
    uint32_t event_high : 8, thread : 24;
    uint32_t time_high : 24, operation : 8;
    uint32_t stack;

    explicit Touch(const Access& access);
    Touch() = default;
    uint64_t count() const { return uint64_t{count_high} << 32 | count_low; }
    uint64_t event() const { return uint64_t{event_high} << 32 | event_low; }
    uint64_t time_ns() const { return uint64_t{time_high} << 32 | time_low; }
    Position position() const { return {actor, count()}; }
    Site site() const { return {event(), time_ns(), thread, stack, static_cast<Op>(operation)}; }
  };
  struct Book {
    RangeTable<Touch> writes;
    OwnerRanges<Touch> reads;        // since the write, by actor
    size_t look_after = kLookAfter;  // when to look for what is over

    size_t size() const { return writes.size() + reads.size(); }
    template <class Drop>
    void erase_if(Drop&& drop);
  };

  Book& book_of(const Object& holder);
  void note_part(const Access& access, uint64_t since, const Object& holder, uint64_t offset, uint64_t start,
                 uint64_t size, std::optional<Conflict>& found);
  // Whether the access comes after the earlier one, or nobody can say.
  bool is_after(const Access& access, uint64_t since, const Touch& earlier) const;
  void drop_what_is_over(Book& book) const;
  static void drop_older_half(Book& book);

  const Model& model_;
  std::unordered_map<uint64_t, Book> books_;  // by the serial number of the block or physical handle
  std::pair<uint64_t, Book*> last_{};         // the one that was used last: so is the next as a rule
  // By actor. One that a new stream goes on with has nothing left that could race.
  std::vector<uint64_t> streams_;
};

}  // namespace plat::inspect
