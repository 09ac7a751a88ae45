// SPDX-License-Identifier: Apache-2.0
// Marks and ranges: they go out as they come.

#include "mstx/broker.h"
#include "mstx/log.h"

using namespace plat::mstx;

namespace {

// call(function) at one tool, or call(function, domain) with the tool's name for the client's domain: NULL
// for the global one, and not if the tool was never told of it.
struct NoDomain {};
template <class Call, class Do>
bool tell_in(const ReadSection&, NoDomain, const Tool& tool, Do&& call) {
  return tell<Call>(tool, call);
}
template <class Call, class Do>
bool tell_in(const ReadSection& section, mstxDomainHandle_t domain, const Tool& tool, Do&& call) {
  ToolsName name = nullptr;
  if (domain != nullptr)
    name = section.broker.registry.name_of(from_client(HandleKind::Domain, domain), tool);
  return name &&
         tell<Call>(tool, [&](auto function) { call(function, static_cast<mstxDomainHandle_t>(*name)); });
}

template <class Call, class Domain>
[[gnu::noinline]] void mark(Domain domain, const char* message, aclrtStream stream) {
  guarded([&] {
    const ReadSection section;
    for (const auto& tool : section.tools)
      tell_in<Call>(section, domain, *tool,
                    [&](auto call, auto... its) { call(its..., text_or_empty(message), stream); });
  });
}

// Starts a range at every tool that has one to start.
template <class Call, class Domain>
[[gnu::noinline]] mstxRangeId start_range(Domain domain, const char* message, aclrtStream stream) {
  return guarded([&]() -> mstxRangeId {
    const ReadSection section;
    Ranges& ranges = section.broker.ranges;
    auto range = ranges.make();
    if (range == nullptr) {
      static std::atomic<bool> said{false};
      if (!said.exchange(true)) warn("{} ranges are open; no more are started until some end", Ranges::kMax);
      return MSTX_INVALID_RANGE_ID;
    }
    uint32_t parts = 0;
    uint64_t started = 0;
    for (const auto& tool : section.tools) {
      uint64_t id = 0;
      if (!tell_in<Call>(section, domain, *tool,
                         [&](auto call, auto... its) { id = call(its..., text_or_empty(message), stream); }))
        continue;
      range->parts[tool->slot] = {tool->id, id};
      ++parts;
      if (id != 0)
        started = id;
      else
        tool->gave_range_zero.store(true, std::memory_order_relaxed);
    }
    if (started != 0) return ranges.open(std::move(range), parts == 1 ? started : 0);
    ranges.give_back(std::move(range));
    return MSTX_INVALID_RANGE_ID;
  });
}

// Ends a range at every tool that had a part in it and is still there.
template <class Call, class Domain>
[[gnu::noinline]] void end_range(Domain domain, mstxRangeId id) {
  guarded([&] {
    const ReadSection section;
    const auto range = section.broker.ranges.close(id);
    for (const auto& tool : section.tools) {
      const bool has_part = range != nullptr && range->parts[tool->slot].tool == tool->id;
      // All said 0, and to one that counts from 0 it is a range.
      const bool counts_from_zero =
          id == MSTX_INVALID_RANGE_ID && tool->gave_range_zero.load(std::memory_order_relaxed);
      if (!has_part && !counts_from_zero) continue;
      const uint64_t its_id = has_part ? range->parts[tool->slot].id : id;
      tell_in<Call>(section, domain, *tool, [&](auto call, auto... its) { call(its..., its_id); });
    }
  });
}

}  // namespace

void mstxMarkA(const char* message, aclrtStream stream) {
  if (!nobody_listens())
    mark<ToolCall<kCore, MSTX_API_CORE_MARK_A, mstxMarkAFunc>>(NoDomain(), message, stream);
}

mstxRangeId mstxRangeStartA(const char* message, aclrtStream stream) {
  if (nobody_listens()) return MSTX_INVALID_RANGE_ID;
  return start_range<ToolCall<kCore, MSTX_API_CORE_RANGE_START_A, mstxRangeStartAFunc>>(NoDomain(), message,
                                                                                        stream);
}

void mstxRangeEnd(mstxRangeId id) {
  if (!nobody_listens())
    end_range<ToolCall<kCore, MSTX_API_CORE_RANGE_END, mstxRangeEndFunc>>(NoDomain(), id);
}

void mstxGetToolId(uint64_t* id) {
  if (id == nullptr) return;
  *id = MSTX_TOOL_INVALID_ID;
  if (nobody_listens()) return;
  guarded([&] {
    const ReadSection section;
    for (const auto& tool : section.tools)
      if (*id == MSTX_TOOL_INVALID_ID) tell<GetToolId>(*tool, [&](auto call) { call(id); });
  });
}

void mstxDomainMarkA(mstxDomainHandle_t domain, const char* message, aclrtStream stream) {
  if (!nobody_listens())
    mark<ToolCall<kDomain, MSTX_API_CORE2_DOMAIN_MARK_A, mstxDomainMarkAFunc>>(domain, message, stream);
}

mstxRangeId mstxDomainRangeStartA(mstxDomainHandle_t domain, const char* message, aclrtStream stream) {
  using Call = ToolCall<kDomain, MSTX_API_CORE2_DOMAIN_RANGE_START_A, mstxDomainRangeStartAFunc>;
  if (nobody_listens()) return MSTX_INVALID_RANGE_ID;
  return start_range<Call>(domain, message, stream);
}

void mstxDomainRangeEnd(mstxDomainHandle_t domain, mstxRangeId id) {
  if (!nobody_listens())
    end_range<ToolCall<kDomain, MSTX_API_CORE2_DOMAIN_RANGE_END, mstxDomainRangeEndFunc>>(domain, id);
}
