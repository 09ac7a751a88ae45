// SPDX-License-Identifier: Apache-2.0
// Call stacks with names, each frame and each stack once: the files that other tools open want numbers.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "inspect/check/symbols.h"
#include "inspect/model/object.h"

namespace plat::inspect {

struct NamedFrame {
  std::string name;
  std::string file;  // of the source, or of the module; may be empty
  int line = 0;      // 0: unknown
  std::string module;
};

class NamedStacks {
 public:
  explicit NamedStacks(Symbols& symbols) : symbols_(symbols) {}

  // The numbers of its frames, innermost first. Where no stack was recorded the call stands for it: never
  // empty.
  const std::vector<uint32_t>& of(const Site& site);

  const NamedFrame& frame(uint32_t number) const { return frames_[number]; }
  const std::vector<NamedFrame>& frames() const { return frames_; }

 private:
  uint32_t number_of(NamedFrame frame);

  Symbols& symbols_;
  std::vector<NamedFrame> frames_;
  std::map<std::tuple<std::string, std::string, int>, uint32_t> numbers_;
  std::map<uint32_t, std::vector<uint32_t>> stacks_;
  std::map<Op, std::vector<uint32_t>> calls_;
};

}  // namespace plat::inspect
