// SPDX-License-Identifier: Apache-2.0
// What lives, by kind and by where it was born, and how that went from mark to mark of the same text.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "inspect/model/object.h"

namespace plat::inspect {

// One kind of thing from one call stack, over the marks of one text since it first lived at one.
struct GrowthSeries {
  uint64_t marks = 0;
  uint64_t rises = 0;  // marks at which there were more than at the one before
  uint64_t first_count = 0, first_bytes = 0;
  uint64_t last_count = 0, last_bytes = 0;

  // At every mark but the first, and often enough to be no start-up effect.
  bool keeps_growing() const { return marks >= 4 && rises + 1 >= marks; }
};

// Things of one kind from one place, over the marks of one text.
struct GrowthLine {
  std::string mark;
  Kind kind{};
  Site site;
  GrowthSeries series;
};

class GrowthBook {
 public:
  // Texts that are followed at a time. Some programs number their marks, and a text that comes once shows
  // nothing: those go first, the oldest before the others.
  static constexpr size_t kTextsMax = 256;

  using Key = std::pair<Kind, uint32_t>;  // kind, stack

  void born(const Object& object);
  void died(const Object& object);
  void mark(const std::string& text);

  const std::map<std::string, std::map<Key, GrowthSeries>>& series() const { return series_; }
  // What rose at some mark, most rises first.
  std::vector<GrowthLine> rising() const;
  // Where the first one of a kind and stack was born.
  const Site& site_of(const Key& key) const { return living_.at(key).site; }

 private:
  void make_room();

  struct Living {
    Site site;
    uint64_t count = 0;
    uint64_t bytes = 0;
  };
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
