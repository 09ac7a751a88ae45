// SPDX-License-Identifier: Apache-2.0
#include "inspect/export/named_stacks.h"

#include <fmt/format.h>

namespace plat::inspect {

uint32_t NamedStacks::number_of(NamedFrame frame) {
  const auto [found, is_new] =
      numbers_.emplace(std::tuple(frame.name, frame.file, frame.line), static_cast<uint32_t>(frames_.size()));
  if (is_new) frames_.push_back(std::move(frame));
  return found->second;
}

const std::vector<uint32_t>& NamedStacks::of(const Site& site) {
  const auto [found, is_new] = stacks_.try_emplace(site.stack);
  if (is_new && site.stack != 0)
    for (const Frame& frame : symbols_.frames_of(site.stack))
      found->second.push_back(number_of(
          {frame.function.empty() ? fmt::format("{:#x} in {}", frame.address, frame.module) : frame.function,
           frame.file, frame.line, frame.module}));
  if (!found->second.empty()) return found->second;
  std::vector<uint32_t>& call = calls_[site.op];
  if (call.empty()) call.push_back(number_of({std::string(info_of(site.op).name), "", 0, ""}));
  return call;
}

}  // namespace plat::inspect
