// SPDX-License-Identifier: Apache-2.0
// What lives, by kind and by where it was born, and how that went from mark to mark of the same text.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "inspect/model/object.h"

namespace plat::inspect {

// One kind of thing from one place, over the marks of one text since it first lived at one.
struct GrowthSeries {
  Site site;  // where the first of them was born
  uint64_t marks = 0;
  uint64_t rises = 0;  // marks at which there were more than at the one before
  uint64_t first_count = 0, first_bytes = 0;
  uint64_t last_count = 0, last_bytes = 0;

  // At every mark but the first, and often enough to be no start-up effect.
  bool keeps_growing() const { return marks >= 4 && rises + 1 >= marks; }
};

// The same with its names.
struct GrowthLine {
  std::string mark;
  Kind kind{};
  GrowthSeries series;
};

class GrowthBook {
 public:
  // Texts that are followed at a time. Some programs number their marks, and a text that comes once shows
  // nothing: those go first, the oldest before the others.
  static constexpr size_t kTextsMax = 256;

  using Key = std::pair<Kind, uint32_t>;  // kind, place

  explicit GrowthBook(PlaceOf place_of = {}) : place_of_(std::move(place_of)) {}

  void born(const Object& object);
  void died(const Object& object);
  void mark(const std::string& text);

  const std::map<std::string, std::map<Key, GrowthSeries>>& series() const { return series_; }
  // What rose at some mark, most rises first.
  std::vector<GrowthLine> rising() const;
  uint32_t place_of(uint32_t stack) const { return place_of_ ? place_of_(stack) : stack; }

 private:
  void make_room();

  struct Living {
    Site site;
    uint64_t count = 0;
    uint64_t bytes = 0;
  };
  PlaceOf place_of_;
  // By stack: which place that is takes time to find out, and matters at marks alone.
  std::map<Key, Living> living_;
  std::map<std::string, std::map<Key, GrowthSeries>> series_;
  struct Seen {
    bool again = false;
    uint64_t last = 0;  // the number of the mark
  };
  std::map<std::string, Seen> seen_;  // the texts of the series
  uint64_t marks_ = 0;
};

}  // namespace plat::inspect
