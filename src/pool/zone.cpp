#include "pool/zone.h"

#include <algorithm>

namespace plat::pool {

Space* Zone::add_space(char* base, uint64_t bytes, bool backed) {
  const uint32_t first = heap_.append(static_cast<uint32_t>(bytes >> core::kGranuleShift), backed);
  if (first == UINT32_MAX) return nullptr;
  spaces_.push_back(std::make_unique<Space>(this, base, bytes, first, !backed));
  spaces_.back()->first_block = heap_.newest();
  return spaces_.back().get();
}

Space& Zone::space_of(uint32_t granule) const {
  if (spaces_.size() == 1) return *spaces_.front();
  auto after = std::upper_bound(spaces_.begin(), spaces_.end(), granule,
                                [](uint32_t value, const auto& space) { return value < space->first_granule; });
  return **(after - 1);
}

void* Zone::open(uint32_t block, uint64_t asked) {
  core::Block& record = heap_.block(block);
  Space& space = space_of(record.start);
  void* address = space.address_of(record.start);
  space.chunk(address) = block + 1;
  set_asked(block, asked);
  used_granules_ += record.size;
  ++live_blocks_;
  return address;
}

void Zone::close(uint32_t block) {
  const core::Block& record = heap_.block(block);
  Space& space = space_of(record.start);
  space.chunk(space.address_of(record.start)) = 0;
  used_granules_ -= record.size;
  --live_blocks_;
}

uint32_t Zone::find(Space& space, const void* address) const {
  const uint32_t entry = space.chunk(address);
  if (entry == 0) return core::kNoBlock;
  const core::Block& record = heap_.block(entry - 1);
  return space.address_of(record.start) == address ? entry - 1 : core::kNoBlock;
}

}  // namespace plat::pool
