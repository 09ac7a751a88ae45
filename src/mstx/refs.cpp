#include "mstx/refs.h"

namespace plat::mstx {

Handle Refs::resolve(size_t index, const mstxMemRegionRef_t& ref) {
  Meaning& meaning = meanings_[index];
  meaning = {Kind::Nothing, ref, {}, nullptr};
  Registry& registry = broker_.registry_;
  const uint32_t type = value_of(ref.refType);
  if (type == MSTX_MEM_REGION_REF_TYPE_POINTER) {
    meaning.region = registry.region_at(place_.domain, ref.pointer);
    meaning.start = ref.pointer;
    meaning.kind = meaning.region ? Kind::Region : Kind::Pointer;
    if (!meaning.region) section_.notice(PLAT_MSTX_NOTICE_NO_REGION_AT, call_, index, ref.pointer);
    return meaning.region;
  }
  if (type != MSTX_MEM_REGION_REF_TYPE_HANDLE) {
    section_.notice(PLAT_MSTX_NOTICE_REF_TYPE, call_, index, uint64_t{type});
    return {};
  }
  const auto handle = from_client(HandleKind::Region, ref.handle);
  const Region* record = handle ? registry.regions.known(*handle) : nullptr;
  if (record == nullptr) {
    section_.notice(PLAT_MSTX_NOTICE_UNKNOWN_REGION, call_, index, ref.handle);
    return {};
  }
  meaning.kind = Kind::Region;
  meaning.region = *handle;
  meaning.start = record->described ? record->range.ptr : nullptr;
  if (registry.regions.live(*handle) != nullptr) return *handle;
  section_.notice(PLAT_MSTX_NOTICE_GONE_REGION, call_, index, ref.handle);
  return {};
}

std::optional<mstxMemRegionRef_t> Refs::translate_one(const Tool& tool, const Meaning& meaning) const {
  if (meaning.kind == Kind::Nothing) return std::nullopt;
  if (meaning.kind == Kind::Pointer) return meaning.ref;
  const auto known = tool.regions.find(meaning.region);
  if (!known) return std::nullopt;
  if (meaning.ref.refType == MSTX_MEM_REGION_REF_TYPE_POINTER) return meaning.ref;
  mstxMemRegionRef_t ref{};
  if (*known != nullptr) {
    ref.refType = MSTX_MEM_REGION_REF_TYPE_HANDLE;
    ref.handle = static_cast<mstxMemRegionHandle_t>(*known);
    return ref;
  }
  // The tool gave no handle, so it goes by pointers.
  if (meaning.start == nullptr) return std::nullopt;
  ref.refType = MSTX_MEM_REGION_REF_TYPE_POINTER;
  ref.pointer = meaning.start;
  return ref;
}

void Refs::translate() {
  const ToolSet& tools = section_.tools();
  for (uint32_t i = 0; i < tools.count; ++i) {
    Translated* const list = translated_.data() + i * meanings_.size();
    counts_[i] = 0;
    for (size_t index = 0; index < meanings_.size(); ++index)
      if (const auto ref = translate_one(*tools.tools[i], meanings_[index]))
        list[counts_[i]++] = {index, *ref};
  }
}

}  // namespace plat::mstx
