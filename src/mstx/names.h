// SPDX-License-Identifier: Apache-2.0
// What each tool calls a heap or a region, kept with its record. Guarded by the registry lock.
#pragma once

#include <array>
#include <memory>
#include <optional>

#include "mstx/tool.h"

namespace plat::mstx {

class Names {
 public:
  void set(const Tool& tool, void* name) {
    if (first_.tool == 0 || first_.tool == tool.id) {
      first_ = {tool.id, name};
      return;
    }
    if (others_ == nullptr) others_ = std::make_unique<Others>();
    (*others_)[tool.slot] = {tool.id, name};
  }

  // Nothing: the tool was not told. NULL: it was told and gave no name.
  std::optional<void*> find(const Tool& tool) const {
    if (first_.tool == tool.id) return first_.name;
    if (others_ == nullptr || (*others_)[tool.slot].tool != tool.id) return std::nullopt;
    return (*others_)[tool.slot].name;
  }

 private:
  // Ids of tools are never used again, so what a tool that left has said is simply no longer found.
  struct Name {
    platMstxToolId_t tool = 0;
    void* name = nullptr;
  };
  using Others = std::array<Name, PLAT_MSTX_TOOLS_MAX>;

  Name first_;  // there is one tool, mostly
  std::unique_ptr<Others> others_;
};

}  // namespace plat::mstx
