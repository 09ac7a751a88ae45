// SPDX-License-Identifier: Apache-2.0
#include "inspect/check/failed_calls.h"

#include <algorithm>

#include "acl/acl.h"

namespace plat::inspect {

namespace {

// Takes memory, of the size in its second field.
bool is_allocation(Op op) {
  const std::string_view name = info_of(op).name;
  return name.starts_with("aclrtMalloc") && words_of(op) > 1;
}

bool is_out_of_memory(int result) {
  return result == ACL_ERROR_RT_MEMORY_ALLOCATION || result == ACL_ERROR_BAD_ALLOC;
}

}  // namespace

void FailedCalls::note(const Event& event) {
  if (event.begins) return;
  const bool allocates = is_allocation(event.op);
  if (event.succeeded()) {
    if (!allocates || waiting_.empty()) return;
    const auto found = waiting_.find({event.thread, event.op});
    if (found == waiting_.end()) return;
    std::erase_if(found->second, [&](const Waiting& waiting) {
      if (event[1] < waiting.size) return false;
      ++calls_[waiting.call].handled;
      return true;
    });
    return;
  }
  const Place place{event.op, event.result, event.stack};
  auto found = index_.find(place);
  if (found == index_.end()) {
    if (calls_.size() == kPlaces) return;
    found = index_.emplace(place, calls_.size()).first;
    calls_.push_back({event.op, event.result, Site::of(event), 0, 0});
  }
  ++calls_[found->second].count;
  if (!allocates || !is_out_of_memory(event.result)) return;
  auto& waiting = waiting_[{event.thread, event.op}];
  if (waiting.size() < kPlaces) waiting.push_back({found->second, event[1]});
}

std::vector<FailedCall> FailedCalls::list(bool with_handled) const {
  std::vector<FailedCall> told;
  for (FailedCall call : calls_) {
    if (!with_handled) call.count -= call.handled;
    if (call.count != 0) told.push_back(call);
  }
  return told;
}

}  // namespace plat::inspect
