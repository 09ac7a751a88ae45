// SPDX-License-Identifier: Apache-2.0
#include "inspect/check/failed_calls.h"

#include <algorithm>

#include "acl/acl.h"
#include "rules/probes.h"

namespace plat::inspect {

namespace {

// Takes memory of a size.
bool is_allocation(Op op) {
  const std::string_view name = info_of(op).name;
  return name.starts_with("aclrtMalloc") && has_field(op, Field::size);
}

bool is_out_of_memory(int result) {
  return result == ACL_ERROR_RT_MEMORY_ALLOCATION || result == ACL_ERROR_BAD_ALLOC;
}

}  // namespace

FailedCall* FailedCalls::count(std::string name, int result, const Site& site, const Breach* why) {
  const rules::Rule* const rule = why != nullptr ? why->rule : nullptr;
  const Key key{name, result, rule, site.stack};
  auto found = index_.find(key);
  if (found == index_.end()) {
    if (calls_.size() == kPlaces) return nullptr;
    found = index_.emplace(key, calls_.size()).first;
    const bool is_probe = rule != nullptr && rules::is_known_probe(rule->id, name);
    calls_.push_back(
        {std::move(name), result, rule, why != nullptr ? why->detail : "", site, 0, 0, is_probe});
  }
  FailedCall& call = calls_[found->second];
  ++call.count;
  return &call;
}

void FailedCalls::note(const Breach& breach) { count(breach.function, breach.code, breach.site, &breach); }

void FailedCalls::note(const Event& event, const Breach* why) {
  if (event.begins) return;
  const bool allocates = is_allocation(event.op);
  if (event.succeeded()) {
    if (!allocates || waiting_.empty()) return;
    const auto found = waiting_.find({event.thread, event.op});
    if (found == waiting_.end()) return;
    std::erase_if(found->second, [&](const Waiting& waiting) {
      if (event.size() < waiting.size) return false;
      ++calls_[waiting.call].handled;
      return true;
    });
    return;
  }
  const FailedCall* const call =
      count(std::string(info_of(event.op).name), event.result, Site::of(event), why);
  if (call == nullptr || !allocates || !is_out_of_memory(event.result)) return;
  auto& waiting = waiting_[{event.thread, event.op}];
  if (waiting.size() < kPlaces) waiting.push_back({static_cast<size_t>(call - calls_.data()), event.size()});
}

std::vector<FailedCall> FailedCalls::list(bool with_probes) const {
  std::vector<FailedCall> told;
  for (FailedCall call : calls_) {
    if (!with_probes) call.count -= call.handled;
    if (call.count != 0 && (with_probes || !call.is_probe)) told.push_back(call);
  }
  return told;
}

}  // namespace plat::inspect
