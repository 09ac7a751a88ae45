// SPDX-License-Identifier: Apache-2.0
// Marks and ranges: they go out as they come.

#include "mstx/broker.h"
#include "mstx/log.h"

using namespace plat::mstx;

namespace {

// Tells one tool; in a domain, by the tool's own name for it: NULL for the global one, and not if the tool
// was never told of it.
template <class Call, class... Args>
auto pass(const Tool& tool, Args... args) {
  return tell<Call>(tool, args...);
}
template <class Call, class... Args>
auto pass(const Tool& tool, mstxDomainHandle_t domain, Args... args) {
  ToolsName name = nullptr;
  if (domain != nullptr) name = Broker::get().registry.name_of(from_client(domain), tool);
  domain = static_cast<mstxDomainHandle_t>(name.value_or(nullptr));
  return name ? tell<Call>(tool, domain, args...) : decltype(tell<Call>(tool, domain, args...)){};
}

// Each takes what the tool's function does.
template <class Call, class... Args>
[[gnu::noinline]] void mark(Args... args) {
  guarded([&] {
    const ReadSection section;
    for (const Tool& tool : section.tools) pass<Call>(tool, args...);
  });
}

// Starts a range at every tool that has one to start.
template <class Call, class... Args>
[[gnu::noinline]] mstxRangeId start_range(Args... args) {
  return guarded([&]() -> mstxRangeId {
    const ReadSection section;
    if (section.broker.ranges.is_full()) {
      static std::atomic<bool> said{false};
      if (!said.exchange(true)) warn("{} ranges are open; no more are started until some end", Ranges::kMax);
      return MSTX_INVALID_RANGE_ID;
    }
    auto range = std::make_unique<Range>();  // so that memory runs out before a tool is told
    uint32_t parts = 0;
    uint64_t started = 0;
    for (Tool& tool : section.tools) {
      const auto id = pass<Call>(tool, args...);
      if (!id) continue;
      range->parts[tool.slot] = {tool.id, *id};
      ++parts;
      if (*id != 0)
        started = *id;
      else
        tool.gave_range_zero.store(true, std::memory_order_relaxed);
    }
    if (started == 0) return MSTX_INVALID_RANGE_ID;
    return section.broker.ranges.open(std::move(range), parts == 1 ? started : 0);
  });
}

// Ends a range at every tool that had a part in it and is still there.
template <class Call, class... Domain>
[[gnu::noinline]] void end_range(mstxRangeId id, Domain... domain) {
  guarded([&] {
    const ReadSection section;
    const auto range = section.broker.ranges.close(id);
    for (const Tool& tool : section.tools) {
      if (range != nullptr && range->parts[tool.slot].tool == tool.id)
        pass<Call>(tool, domain..., range->parts[tool.slot].id);
      // All said 0, and to one that counts from 0 it is a range.
      else if (id == MSTX_INVALID_RANGE_ID && tool.gave_range_zero.load(std::memory_order_relaxed))
        pass<Call>(tool, domain..., id);
    }
  });
}

}  // namespace

void mstxMarkA(const char* message, aclrtStream stream) {
  using Call = ToolCall<kCore, MSTX_API_CORE_MARK_A, mstxMarkAFunc>;
  if (!nobody_listens()) mark<Call>(text_or_empty(message), stream);
}

mstxRangeId mstxRangeStartA(const char* message, aclrtStream stream) {
  using Call = ToolCall<kCore, MSTX_API_CORE_RANGE_START_A, mstxRangeStartAFunc>;
  return nobody_listens() ? MSTX_INVALID_RANGE_ID : start_range<Call>(text_or_empty(message), stream);
}

void mstxRangeEnd(mstxRangeId id) {
  using Call = ToolCall<kCore, MSTX_API_CORE_RANGE_END, mstxRangeEndFunc>;
  if (!nobody_listens()) end_range<Call>(id);
}

void mstxGetToolId(uint64_t* id) {
  if (id == nullptr) return;
  *id = MSTX_TOOL_INVALID_ID;
  if (nobody_listens()) return;
  guarded([&] {
    const ReadSection section;
    for (const Tool& tool : section.tools)
      if (*id == MSTX_TOOL_INVALID_ID) tell<GetToolId>(tool, id);
  });
}

void mstxDomainMarkA(mstxDomainHandle_t domain, const char* message, aclrtStream stream) {
  using Call = ToolCall<kDomain, MSTX_API_CORE2_DOMAIN_MARK_A, mstxDomainMarkAFunc>;
  if (!nobody_listens()) mark<Call>(domain, text_or_empty(message), stream);
}

mstxRangeId mstxDomainRangeStartA(mstxDomainHandle_t domain, const char* message, aclrtStream stream) {
  using Call = ToolCall<kDomain, MSTX_API_CORE2_DOMAIN_RANGE_START_A, mstxDomainRangeStartAFunc>;
  return nobody_listens() ? MSTX_INVALID_RANGE_ID : start_range<Call>(domain, text_or_empty(message), stream);
}

void mstxDomainRangeEnd(mstxDomainHandle_t domain, mstxRangeId id) {
  using Call = ToolCall<kDomain, MSTX_API_CORE2_DOMAIN_RANGE_END, mstxDomainRangeEndFunc>;
  if (!nobody_listens()) end_range<Call>(id, domain);
}
