// SPDX-License-Identifier: Apache-2.0
#include "pool/reporting.h"

#include <fmt/format.h>

#include <mutex>

#include "pool/tool_batch.h"

namespace plat::pool {

void Reporting::space_added(Space& space) {
  const Zone& zone = *space.zone;
  const char* const kind = space.small != nullptr ? "small blocks" : "large blocks";
  space.tool_heap =
      tool_.heap_added(space.base, source_.asked_bytes(space.bytes), source_.device(),
                       zone.tag() != 0 ? fmt::format("{}: {} of tag {}", name_, kind, zone.tag())
                                       : fmt::format("{}: {}", name_, kind));
}

void Reporting::block_added(const void* address, uint64_t bytes, uint16_t tag) {
  const Space& space = *index_.find(address);
  if (space.tool_heap == nullptr) return;
  if (ToolSilence::on()) return tool_.block_hidden(address);
  if (ToolBatch* batch = ToolBatch::current(); batch != nullptr && tag == 0)
    return batch->add(tool_, space.tool_heap, {address, bytes}, source_.device());
  tool_.regions_added(space.tool_heap, {{address, bytes}}, source_.device());
  if (tag != 0) tool_.regions_named({address}, fmt::format("tag {}", tag));
}

Reporting::Freed Reporting::block_freed(Pool& pool, Space& space, void* address, plat_stream stream) {
  if (ToolSilence::on() || space.tool_heap == nullptr) {
    tool_.block_gone(address);
    return Freed::kNow;
  }
  if (ToolBatch* batch = ToolBatch::current())
    return batch->remove(pool, space, address, stream) ? Freed::kLater : Freed::kTwice;
  tool_.regions_removed({address});
  return Freed::kNow;
}

void Reporting::block_resized(const Space& space, const void* address, uint64_t bytes) {
  if (space.tool_heap != nullptr) tool_.region_resized(space.tool_heap, {address, bytes}, source_.device());
}

void Reporting::block_named(const void* address, const char* name) {
  if (ToolBatch* batch = ToolBatch::current()) batch->tell_added();
  tool_.regions_named({address}, name);
}

void Reporting::piece_added(const void* address, uint64_t bytes, const std::string& name) {
  block_added(address, bytes, 0);
  if (index_.find(address)->tool_heap != nullptr) tool_.piece_added(address);
  tool_.regions_named({address}, name);
}

void Reporting::all_freed(Zones& zones) {
  std::vector<const void*> regions;
  bool one_by_one = false;
  zones.for_each([&](Zone& zone) {
    std::lock_guard guard(zone.lock());
    for (auto& space : zone.spaces()) {
      if (space->gone || space->tool_heap == nullptr || tool_.heap_reset(space->tool_heap)) continue;
      one_by_one = true;
      std::vector<Zone::LiveBlock> live;
      zone.list_live(*space, live);
      for (const Zone::LiveBlock& block : live) regions.push_back(block.address);
    }
  });
  // Of a freed block that waits for its streams the tool has heard already.
  std::erase_if(regions, [&](const void* address) { return uses_.is_waiting(address); });
  tool_.all_gone(one_by_one ? &regions : nullptr);
  tool_.regions_removed(regions);
}

}  // namespace plat::pool
