// SPDX-License-Identifier: Apache-2.0
// Accesses to the same bytes, at least one of them a write, that nothing orders.
//
// For every byte, by ranges: who wrote it last, and who has read it since. Only queued work is remembered:
// what the host does itself is over when its call returns, so whatever comes later comes after it. What the
// host has waited for can race with nothing that comes later, and is dropped when a map grows.
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "inspect/model/model.h"

namespace plat::inspect {

class Races {
 public:
  // One access, as it is remembered.
  struct Touch {
    Position position;
    Site site;
    uint64_t stream = 0;
  };
  struct Conflict {
    Touch earlier;
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

  // Ranges of one block. Beyond that many, with none of them known to be over, the block is forgotten and
  // begun anew: that may miss a race.
  static constexpr size_t kRangesMax = size_t{1} << 16;
  // Fewer of them are not worth a look.
  static constexpr size_t kLookAfter = 512;
  // Ranges of all blocks.
  size_t size() const;

 private:
  struct Bytes {
    Touch write;               // count 0: none
    std::vector<Touch> reads;  // since the write; none of them comes before another
  };
  struct Book {
    RangeMap<Bytes> ranges;
    size_t look_after = kLookAfter;  // when to look for what is over
  };

  void note_part(const Access& access, uint64_t since, const Object& holder, uint64_t offset, uint64_t start,
                 uint64_t size, std::optional<Conflict>& found);
  // Whether the access comes after the earlier one, or nobody can say.
  bool is_after(const Access& access, uint64_t since, const Touch& earlier) const;
  void remember(Book& book, const Access& access, uint64_t offset, uint64_t end);
  void drop_what_is_over(Book& book) const;

  const Model& model_;
  std::unordered_map<uint64_t, Book> books_;  // by the serial number of the block or physical handle
};

}  // namespace plat::inspect
