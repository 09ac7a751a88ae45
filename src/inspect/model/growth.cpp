// SPDX-License-Identifier: Apache-2.0
#include "inspect/model/growth.h"

#include <algorithm>

namespace plat::inspect {

void GrowthBook::born(const Object& object) {
  const auto [place, fresh] = living_.try_emplace({object.kind, object.born.stack});
  if (fresh) place->second.site = object.born;
  ++place->second.count;
  place->second.bytes += object.size;
}

void GrowthBook::died(const Object& object) {
  const auto found = living_.find({object.kind, object.born.stack});
  if (found == living_.end()) return;
  found->second.count -= std::min<uint64_t>(found->second.count, 1);
  found->second.bytes -= std::min(found->second.bytes, object.size);
}

void GrowthBook::mark(const std::string& text) {
  const auto [seen, fresh] = seen_.try_emplace(text);
  seen->second = {!fresh, ++marks_};
  auto& all = series_[text];
  std::map<Key, Living> places;
  for (const auto& [key, living] : living_) {
    Living& place = places[{key.first, place_of(key.second)}];
    if (place.site.event == 0 || living.site.event < place.site.event) place.site = living.site;
    place.count += living.count;
    place.bytes += living.bytes;
  }
  for (const auto& [key, living] : places) {
    GrowthSeries& series = all[key];
    if (series.marks == 0) {
      series.site = living.site;
      series.first_count = living.count;
      series.first_bytes = living.bytes;
    } else if (living.count > series.last_count) {
      ++series.rises;
    }
    ++series.marks;
    series.last_count = living.count;
    series.last_bytes = living.bytes;
  }
  if (seen_.size() > kTextsMax) make_room();
}

void GrowthBook::make_room() {
  const auto least = std::min_element(seen_.begin(), seen_.end(), [](const auto& a, const auto& b) {
    return std::pair(a.second.again, a.second.last) < std::pair(b.second.again, b.second.last);
  });
  series_.erase(least->first);
  seen_.erase(least);
}

std::vector<GrowthLine> GrowthBook::rising() const {
  std::vector<GrowthLine> lines;
  for (const auto& [text, all] : series_)
    for (const auto& [key, series] : all)
      if (series.rises > 0) lines.push_back({text, key.first, series});
  std::stable_sort(lines.begin(), lines.end(),
                   [](const GrowthLine& a, const GrowthLine& b) { return a.series.rises > b.series.rises; });
  return lines;
}

}  // namespace plat::inspect
