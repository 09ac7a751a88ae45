#include "pool/zone.h"

#include <algorithm>

namespace plat::pool {

Space* Zone::add_space(char* base, uint64_t bytes, bool backed) {
  const uint32_t first = heap_.append(static_cast<uint32_t>(bytes >> core::kGranuleShift), backed);
  if (first == UINT32_MAX) return nullptr;
  spaces_.push_back(std::make_unique<Space>(this, base, bytes, first, !backed));
  spaces_.back()->first_block = heap_.newest();
  if (spans_ != nullptr) spaces_.back()->live = std::make_unique<LiveMap>(bytes);
  return spaces_.back().get();
}

Space& Zone::space_of(uint32_t granule) const {
  if (spaces_.size() == 1) return *spaces_.front();
  auto after =
      std::upper_bound(spaces_.begin(), spaces_.end(), granule,
                       [](uint32_t value, const auto& space) { return value < space->first_granule; });
  return **(after - 1);
}

void* Zone::open(uint32_t block, uint64_t asked) {
  const core::Block& record = heap_.block(block);
  table_.insert(record.start, block);
  set_asked(block, asked);
  used_granules_.store(used_granules() + record.size, std::memory_order_relaxed);
  ++live_blocks_;
  return space_of(record.start).address_of(record.start);
}

void Zone::close(uint32_t block) {
  table_.remove(heap_.block(block).start);
  close_taken(block);
}

}  // namespace plat::pool
