// SPDX-License-Identifier: Apache-2.0
#include "malloc/module_usage.h"

#include <fmt/format.h>

#include <algorithm>

namespace plat::malloc {

std::vector<ModuleUsage::Entry> ModuleUsage::entries() const {
  std::vector<Entry> result;
  for (size_t module = 0; module < counters_.size(); ++module) {
    const uint64_t peak = counters_[module].peak.load(std::memory_order_relaxed);
    if (peak == 0) continue;
    const std::string name = module == kModuleApp ? "APP"
                             : module == kKnown   ? "OTHER"
                                                  : fmt::format("MODULE_{}", module);
    result.push_back({name, counters_[module].current.load(std::memory_order_relaxed), peak});
  }
  std::stable_sort(result.begin(), result.end(),
                   [](const Entry& a, const Entry& b) { return a.current_bytes > b.current_bytes; });
  return result;
}

}  // namespace plat::malloc
