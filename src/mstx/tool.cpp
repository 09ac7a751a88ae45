#include "mstx/tool.h"

namespace plat::mstx {

void HandleTable::set(Handle handle, void* tool_handle) {
  const uint32_t chunk = handle.index / kChunk;
  if (chunk >= chunks_.size()) chunks_.resize(chunk + 1);
  if (chunks_[chunk] == nullptr) chunks_[chunk] = std::make_unique<Entry[]>(kChunk);
  chunks_[chunk][handle.index % kChunk] = {tool_handle, handle.generation};
}

std::optional<void*> HandleTable::find(Handle handle) const {
  const uint32_t chunk = handle.index / kChunk;
  if (!handle || chunk >= chunks_.size() || chunks_[chunk] == nullptr) return std::nullopt;
  const Entry& entry = chunks_[chunk][handle.index % kChunk];
  if (entry.generation != handle.generation) return std::nullopt;
  return entry.tool_handle;
}

void DomainTable::set(Handle handle, void* tool_handle) {
  if (handle.index >= kMax) return;
  Entry& entry = entries_[handle.index];
  // No reader takes the new handle for the old generation, or the other way round.
  if (entry.generation.load(std::memory_order_relaxed) != handle.generation)
    entry.generation.store(0, std::memory_order_seq_cst);
  entry.tool_handle.store(tool_handle, std::memory_order_seq_cst);
  entry.generation.store(handle.generation, std::memory_order_seq_cst);
}

std::optional<void*> DomainTable::find(Handle handle) const {
  if (!handle || handle.index >= kMax) return std::nullopt;
  const Entry& entry = entries_[handle.index];
  if (entry.generation.load(std::memory_order_seq_cst) != handle.generation) return std::nullopt;
  void* const tool_handle = entry.tool_handle.load(std::memory_order_seq_cst);
  if (entry.generation.load(std::memory_order_seq_cst) != handle.generation) return std::nullopt;
  return tool_handle;
}

}  // namespace plat::mstx
