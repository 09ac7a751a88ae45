// SPDX-License-Identifier: Apache-2.0
// Clients that speak mstx with an accent.
//
// Some pools use the memory calls as a way to report totals rather than to describe memory, and leave fields
// of the structs unset: what stands there is whatever the stack held. They are known by the name of their
// domain. Of a region batch only the count and the descriptions are set: no heap, no type, no room for
// handles. Of a heap description only the range is, and it is no pool but the news "this block moved, and the
// pool now has so many bytes": each replaces the one before. What is unset is not looked at, and tools get it
// empty.
#pragma once

#include <string_view>

namespace plat {

inline constexpr std::string_view kMstxDialects[] = {
    "ptaCaching",        // torch_npu, caching allocator
    "ptaWorkspace",      // torch_npu, workspaces
    "mindsporeMemPool",  // MindSpore
};

inline bool speaks_dialect(std::string_view domain) {
  for (const std::string_view dialect : kMstxDialects)
    if (dialect == domain) return true;
  return false;
}

}  // namespace plat
