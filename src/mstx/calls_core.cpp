// Marks and ranges: they go out as they come.

#include "mstx/log.h"
#include "mstx/sections.h"

namespace plat::mstx {
namespace {

// Starts a range at every tool that has one to start. start(tool) stores the tool's id and returns whether it
// was asked.
template <class Start>
mstxRangeId start_range(Ranges& ranges, ReadSection& section, Start&& start) {
  uint32_t slot = 0;
  RangeRecord* const record = ranges.take(slot);
  if (record == nullptr) {
    static std::atomic<bool> said{false};
    if (!said.exchange(true)) warn("{} ranges are open; no more are started until some end", Ranges::kMax);
    return MSTX_INVALID_RANGE_ID;
  }
  record->parts = {};
  bool started = false;
  for (Tool* tool : section.tools()) {
    uint64_t id = 0;
    if (!start(*tool, id)) continue;
    record->parts[tool->slot] = {tool->id, id};
    if (id == 0) tool->gave_range_zero.store(true, std::memory_order_relaxed);
    started = started || id != 0;
  }
  if (started) return ranges.open(slot);
  ranges.give_back(slot);
  return MSTX_INVALID_RANGE_ID;
}

// end(tool, id) at every tool that had a part in the range and is still there.
template <class End>
void end_range(Ranges& ranges, ReadSection& section, mstxRangeId id, End&& end) {
  if (id == MSTX_INVALID_RANGE_ID) {
    // All said 0, and to one that counts from 0 it is a range.
    for (Tool* tool : section.tools())
      if (tool->gave_range_zero.load(std::memory_order_relaxed)) end(*tool, id);
    return;
  }
  uint32_t slot = 0;
  const RangeRecord* const record = ranges.close(id, slot);
  if (record == nullptr) return;
  const RangeRecord copy = *record;
  ranges.give_back(slot);
  for (Tool* tool : section.tools())
    if (copy.parts[tool->slot].tool == tool->id) end(*tool, copy.parts[tool->slot].id);
}

}  // namespace

void Broker::mark(const char* message, aclrtStream stream) {
  ReadSection section(*this);
  tell_all<&ToolSlots::core, MSTX_API_CORE_MARK_A, mstxMarkAFunc>(
      section, [&](Tool&, auto call) { call(text_or_empty(message), stream); });
}

mstxRangeId Broker::range_start(const char* message, aclrtStream stream) {
  ReadSection section(*this);
  return start_range(ranges_, section, [&](Tool& tool, uint64_t& id) {
    return tell<&ToolSlots::core, MSTX_API_CORE_RANGE_START_A, mstxRangeStartAFunc>(
        section.thread(), tool, [&](Tool&, auto call) { id = call(text_or_empty(message), stream); });
  });
}

void Broker::range_end(mstxRangeId id) {
  ReadSection section(*this);
  end_range(ranges_, section, id, [&](Tool& tool, uint64_t tool_id) {
    tell<&ToolSlots::core, MSTX_API_CORE_RANGE_END, mstxRangeEndFunc>(
        section.thread(), tool, [&](Tool&, auto call) { call(tool_id); });
  });
}

uint64_t Broker::tool_id() {
  ReadSection section(*this);
  uint64_t first = MSTX_TOOL_INVALID_ID;
  tell_all<&ToolSlots::core, MSTX_API_CORE_GET_TOOL_ID, mstxGetToolIdFunc>(section, [&](Tool&, auto call) {
    uint64_t id = MSTX_TOOL_INVALID_ID;
    if (first == MSTX_TOOL_INVALID_ID) call(&id);
    if (first == MSTX_TOOL_INVALID_ID) first = id;
  });
  return first;
}

void Broker::domain_mark(mstxDomainHandle_t domain, const char* message, aclrtStream stream) {
  ReadSection section(*this);
  tell_all<&ToolSlots::domain, MSTX_API_CORE2_DOMAIN_MARK_A, mstxDomainMarkAFunc>(
      section, [&](Tool& tool, auto call) {
        if (const auto name = domain_known_to(tool, domain)) call(*name, text_or_empty(message), stream);
      });
}

mstxRangeId Broker::domain_range_start(mstxDomainHandle_t domain, const char* message, aclrtStream stream) {
  ReadSection section(*this);
  return start_range(ranges_, section, [&](Tool& tool, uint64_t& id) {
    const auto name = domain_known_to(tool, domain);
    return name && tell<&ToolSlots::domain, MSTX_API_CORE2_DOMAIN_RANGE_START_A, mstxDomainRangeStartAFunc>(
                       section.thread(), tool,
                       [&](Tool&, auto call) { id = call(*name, text_or_empty(message), stream); });
  });
}

void Broker::domain_range_end(mstxDomainHandle_t domain, mstxRangeId id) {
  ReadSection section(*this);
  end_range(ranges_, section, id, [&](Tool& tool, uint64_t tool_id) {
    const auto name = domain_known_to(tool, domain);
    if (!name) return;
    tell<&ToolSlots::domain, MSTX_API_CORE2_DOMAIN_RANGE_END, mstxDomainRangeEndFunc>(
        section.thread(), tool, [&](Tool&, auto call) { call(*name, tool_id); });
  });
}

}  // namespace plat::mstx
