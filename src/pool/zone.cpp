#include "pool/zone.h"

#include <algorithm>
#include <utility>

namespace plat::pool {

// The smallest that is gone and was long enough.
Space* Zone::gone_space(uint64_t bytes) const {
  Space* best = nullptr;
  for (const auto& space : spaces_)
    if (space->gone && space->most_bytes >= bytes &&
        (best == nullptr || space->most_bytes < best->most_bytes))
      best = space.get();
  return best;
}

Space* Zone::revive(Space& space, char* base, uint64_t bytes) {
  heap_.revive(space.first_block, static_cast<uint32_t>(bytes >> core::kGranuleShift));
  space.base = base;
  space.bytes = bytes;
  space.gone = false;
  space.tool_heap = nullptr;
  return &space;
}

Space* Zone::add_space(char* base, uint64_t bytes, bool backed) {
  // One that is far too long is kept for what needs it, while there are places for another.
  Space* const gone = backed ? gone_space(bytes) : nullptr;
  if (gone != nullptr && gone->most_bytes / 2 <= bytes) return revive(*gone, base, bytes);
  // What may fail comes before the heap knows of the addresses: it must find a space for each.
  auto space = std::make_unique<Space>(this, base, bytes, chunk_shift_, spans_ != nullptr, !backed);
  spaces_.reserve(spaces_.size() + 1);
  space->first_granule = heap_.append(static_cast<uint32_t>(bytes >> core::kGranuleShift), backed);
  if (space->first_granule == UINT32_MAX) return gone != nullptr ? revive(*gone, base, bytes) : nullptr;
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
