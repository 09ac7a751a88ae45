// SPDX-License-Identifier: Apache-2.0
#include "inspect/report/timeline.h"

#include <algorithm>

namespace plat::inspect {

void Timeline::Slice::add(Point point) {
  if (empty || point.second > highest.second) highest = point;
  last = point;
  empty = false;
}

void Timeline::add(uint64_t time_ns, uint64_t bytes) {
  if (!slices_.empty()) time_ns = std::max(time_ns, slices_.back().last.first);
  while (time_ns / slice_ns_ >= kSlicesMax) {
    for (size_t i = 0; i < slices_.size(); ++i) {
      Slice slice = slices_[i];
      if (i % 2 == 0) {
        slices_[i / 2] = slice;
      } else if (!slice.empty) {
        slices_[i / 2].add(slice.highest);
        slices_[i / 2].last = slice.last;
      }
    }
    slices_.resize((slices_.size() + 1) / 2);
    slice_ns_ *= 2;
  }
  const auto place = static_cast<size_t>(time_ns / slice_ns_);
  if (slices_.size() <= place) slices_.resize(place + 1);
  slices_[place].add({time_ns, bytes});
}

std::vector<Timeline::Point> Timeline::points() const {
  std::vector<Point> points;
  for (const Slice& slice : slices_) {
    if (slice.empty) continue;
    points.push_back(slice.highest);
    if (slice.last != slice.highest) points.push_back(slice.last);
  }
  return points;
}

}  // namespace plat::inspect
