#include "pool/zone.h"

#include <algorithm>

namespace plat::pool {

Space* Zone::add_space(char* base, uint64_t bytes, bool backed) {
  const uint32_t first = heap_.append(static_cast<uint32_t>(bytes >> core::kGranuleShift), backed);
  if (first == UINT32_MAX) return nullptr;
  spaces_.push_back(
      std::make_unique<Space>(this, base, bytes, first, chunk_shift_, spans_ != nullptr, !backed));
  spaces_.back()->first_block = heap_.newest();
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
