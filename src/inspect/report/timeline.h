// SPDX-License-Identifier: Apache-2.0
// Bytes over time, in a bounded number of points that are as close to each other at the start as at the end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace plat::inspect {

class Timeline {
 public:
  using Point = std::pair<uint64_t, uint64_t>;  // time, bytes from then on
  static constexpr size_t kSlicesMax = 4096;

  // Times rise; one that does not counts as the last.
  void add(uint64_t time_ns, uint64_t bytes);

  // Of each slice of time where it was highest, and what it ended with.
  std::vector<Point> points() const;

 private:
  struct Slice {
    Point highest;
    Point last;
    bool empty = true;

    void add(Point point);
  };

  std::vector<Slice> slices_;
  uint64_t slice_ns_ = 1;  // doubled when the run has become longer than all slices
};

}  // namespace plat::inspect
