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
  auto& all = series_[text];
  for (const auto& [key, living] : living_) {
    GrowthSeries& series = all[key];
    if (series.marks == 0) {
      series.first_count = living.count;
      series.first_bytes = living.bytes;
    } else if (living.count > series.last_count) {
      ++series.rises;
    }
    ++series.marks;
    series.last_count = living.count;
    series.last_bytes = living.bytes;
  }
}

}  // namespace plat::inspect
