// What tools are told of a pool: its spaces are heaps, its blocks regions. Nothing here runs unless a tool
// listens.
#include <fmt/format.h>

#include "pool/batch.h"
#include "pool/pool_impl.h"

namespace plat::pool {

void Pool::tell_space(Space& space) {
  const Zone& zone = *space.zone;
  const char* kind = space.small != nullptr ? "small blocks" : "large blocks";
  space.tool_heap =
      tool_.heap_added(space.base, source_->asked_bytes(space.bytes), source_->device(),
                       zone.tag() != 0 ? fmt::format("{}: {} of tag {}", name_, kind, zone.tag())
                                       : fmt::format("{}: {}", name_, kind));
  if (tool_.listening()) refresh_front();
}

void Pool::tell_added(const void* address, uint64_t bytes, uint16_t tag) {
  Space& space = *index_.find(address);
  if (space.tool_heap == nullptr) return;
  if (Quiet::on()) return tool_.block_hidden(address);
  if (Batch* batch = Batch::current(); batch != nullptr && tag == 0)
    return batch->add(tool_, space.tool_heap, {address, bytes}, source_->device());
  tool_.regions_added(space.tool_heap, {{address, bytes}}, source_->device());
  if (tag != 0) tool_.regions_named({address}, fmt::format("tag {}", tag));
}

// The tool hears of it before the block can become another's.
plat_pool_status Pool::release_heard(Space& space, void* address, plat_stream stream) {
  if (space.small == nullptr) {  // a small one was looked at already
    if (is_deferred(address)) return unknown(address);
    std::lock_guard guard(space.zone->lock());
    if (space.zone->find(space, address) == core::kNoBlock) return unknown(address);
  }
  if (!Quiet::on() && space.tool_heap != nullptr) {
    if (Batch* batch = Batch::current())
      return batch->remove(*this, space, address, stream) ? PLAT_POOL_OK : unknown(address);
    tool_.regions_removed({address});
  } else {
    tool_.block_gone(address);
  }
  return release_told(&space, address, stream);
}

void Pool::tell_resized(Space& space, const void* address, uint64_t bytes) {
  if (space.tool_heap != nullptr) tool_.region_resized(space.tool_heap, {address, bytes}, source_->device());
}

// Every block is about to be freed: a call for each heap, or one with all regions where that is not known.
void Pool::tell_reset() {
  std::vector<const void*> regions;
  bool one_by_one = false;
  for_zones([&](Zone& zone) {
    std::lock_guard guard(zone.lock());
    for (auto& space : zone.spaces()) {
      if (space->gone || space->tool_heap == nullptr || tool_.heap_reset(space->tool_heap)) continue;
      one_by_one = true;
      live_regions(zone, *space, regions);
    }
  });
  tool_.all_gone(one_by_one ? &regions : nullptr);
  tool_.regions_removed(regions);
}

// Needs the zone's lock. Of a freed block that waits for its streams the tool has heard already.
void Pool::live_regions(Zone& zone, const Space& space, std::vector<const void*>& out) {
  if (zone.spans() != nullptr) {
    std::vector<uint32_t> spans;
    zone.spans()->all(spans);
    for (const uint32_t id : spans)
      if (space.contains(zone.spans()->at(id).base)) live_blocks(zone, zone.spans()->at(id), out);
    return;
  }
  for (uint32_t id = zone.heap().first_block(); id != core::kNoBlock; id = zone.heap().block(id).next)
    if (zone.heap().block(id).state == core::BlockState::kLive) {
      const void* address = zone.address_of(id);
      if (space.contains(address) && !is_deferred(address)) out.push_back(address);
    }
}

void Pool::tell_piece(const void* address, uint64_t bytes, const std::string& name) {
  tell_added(address, bytes, 0);
  if (index_.find(address)->tool_heap != nullptr) tool_.piece_added(address);
  tool_.regions_named({address}, name);
}

plat_pool_status Pool::name_block(void* address, const char* name) {
  Pool* owner = index_.find(address) != nullptr ? this : companion_at(address);
  if (owner == nullptr) return unknown(address);
  if (const auto status = owner->usable(address, nullptr, nullptr); status != PLAT_POOL_OK) return status;
  if (!owner->tool_.listening()) return PLAT_POOL_OK;
  if (Batch* batch = Batch::current()) batch->tell_added();
  owner->tool_.regions_named({address}, name);
  return PLAT_POOL_OK;
}

}  // namespace plat::pool
