#include "pool/zone.h"

#include <algorithm>
#include <utility>

namespace plat::pool {

Space* Zone::add_space(char* base, uint64_t bytes, bool backed) {
  // What may fail comes before the heap knows of the addresses: it must find a space for each.
  auto space = std::make_unique<Space>(this, base, bytes, chunk_shift_, spans_ != nullptr, !backed);
  spaces_.reserve(spaces_.size() + 1);
  space->first_granule = heap_.append(static_cast<uint32_t>(bytes >> core::kGranuleShift), backed);
  if (space->first_granule == UINT32_MAX) return nullptr;
  space->first_block = heap_.newest();
  spaces_.push_back(std::move(space));
  return spaces_.back().get();
}

Space& Zone::search(uint32_t granule) const {
  auto after =
      std::upper_bound(spaces_.begin(), spaces_.end(), granule,
                       [](uint32_t value, const auto& space) { return value < space->first_granule; });
  return **(after - 1);
}

uint64_t Zone::table_bytes() const {
  uint64_t bytes = 0;
  for (const auto& space : spaces_) {
    // All spaces with pages have them in common: the first counts for all.
    const uint64_t backed = space->pages == nullptr    ? space->bytes
                            : space == spaces_.front() ? heap_.mapped_pages() * kPageBytes
                                                       : 0;
    if (space->gone) continue;
    bytes += space->small != nullptr ? space->small->bookkeeping_bytes(backed)
                                     : (backed >> chunk_shift_) * sizeof(uint32_t);
  }
  return bytes;
}

}  // namespace plat::pool
