// SPDX-License-Identifier: Apache-2.0
// Marks and ranges: they go out as they come.

#include "mstx/broker.h"
#include "mstx/log.h"
#include "mstx/sections.h"

namespace plat::mstx {
namespace {

// Starts a range at every tool that has one to start. start(tool, id) stores the tool's id and returns
// whether it was asked.
template <class Start>
mstxRangeId start_range(Ranges& ranges, ReadSection& section, Start&& start) {
  auto range = ranges.make();
  if (range.empty()) {
    static std::atomic<bool> said{false};
    if (!said.exchange(true)) warn("{} ranges are open; no more are started until some end", Ranges::kMax);
    return MSTX_INVALID_RANGE_ID;
  }
  uint32_t parts = 0;
  uint64_t started = 0;
  for (Tool* tool : section.tools()) {
    uint64_t id = 0;
    if (!start(*tool, id)) continue;
    range.front().parts[tool->slot] = {tool->id, id};
    ++parts;
    if (id != 0)
      started = id;
    else
      tool->gave_range_zero.store(true, std::memory_order_relaxed);
  }
  if (started == 0) return MSTX_INVALID_RANGE_ID;
  return ranges.open(std::move(range), parts == 1 ? started : 0);
}

// end(tool, id) at every tool that had a part in the range and is still there.
template <class End>
void end_range(Ranges& ranges, ReadSection& section, mstxRangeId id, End&& end) {
  const auto range = ranges.close(id);
  for (Tool* tool : section.tools()) {
    if (!range.empty() && range.front().parts[tool->slot].tool == tool->id)
      end(*tool, range.front().parts[tool->slot].id);
    // All said 0, and to one that counts from 0 it is a range.
    else if (id == MSTX_INVALID_RANGE_ID && tool->gave_range_zero.load(std::memory_order_relaxed))
      end(*tool, id);
  }
}

}  // namespace

void Broker::mark(const char* message, aclrtStream stream) {
  ReadSection section(tools);
  tell_all<Core<MSTX_API_CORE_MARK_A, mstxMarkAFunc>>(
      section, [&](Tool&, auto call) { call(text_or_empty(message), stream); });
}

mstxRangeId Broker::range_start(const char* message, aclrtStream stream) {
  ReadSection section(tools);
  return start_range(ranges_, section, [&](Tool& tool, uint64_t& id) {
    return tell<Core<MSTX_API_CORE_RANGE_START_A, mstxRangeStartAFunc>>(
        section.thread(), tool, [&](auto call) { id = call(text_or_empty(message), stream); });
  });
}

void Broker::range_end(mstxRangeId id) {
  ReadSection section(tools);
  end_range(ranges_, section, id, [&](Tool& tool, uint64_t tool_id) {
    tell<Core<MSTX_API_CORE_RANGE_END, mstxRangeEndFunc>>(section.thread(), tool,
                                                          [&](auto call) { call(tool_id); });
  });
}

uint64_t Broker::tool_id() {
  ReadSection section(tools);
  uint64_t first = MSTX_TOOL_INVALID_ID;
  tell_all<Core<MSTX_API_CORE_GET_TOOL_ID, mstxGetToolIdFunc>>(section, [&](Tool&, auto call) {
    if (first == MSTX_TOOL_INVALID_ID) call(&first);
  });
  return first;
}

void Broker::domain_mark(mstxDomainHandle_t domain, const char* message, aclrtStream stream) {
  ReadSection section(tools);
  tell_all<InDomain<MSTX_API_CORE2_DOMAIN_MARK_A, mstxDomainMarkAFunc>>(section, [&](Tool& tool, auto call) {
    if (const auto name = domain_known_to(tool, domain)) call(*name, text_or_empty(message), stream);
  });
}

mstxRangeId Broker::domain_range_start(mstxDomainHandle_t domain, const char* message, aclrtStream stream) {
  ReadSection section(tools);
  return start_range(ranges_, section, [&](Tool& tool, uint64_t& id) {
    const auto name = domain_known_to(tool, domain);
    return name &&
           tell<InDomain<MSTX_API_CORE2_DOMAIN_RANGE_START_A, mstxDomainRangeStartAFunc>>(
               section.thread(), tool, [&](auto call) { id = call(*name, text_or_empty(message), stream); });
  });
}

void Broker::domain_range_end(mstxDomainHandle_t domain, mstxRangeId id) {
  ReadSection section(tools);
  end_range(ranges_, section, id, [&](Tool& tool, uint64_t tool_id) {
    const auto name = domain_known_to(tool, domain);
    if (!name) return;
    tell<InDomain<MSTX_API_CORE2_DOMAIN_RANGE_END, mstxDomainRangeEndFunc>>(
        section.thread(), tool, [&](auto call) { call(*name, tool_id); });
  });
}

}  // namespace plat::mstx
