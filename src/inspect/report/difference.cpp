// SPDX-License-Identifier: Apache-2.0
#include "inspect/report/difference.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

namespace plat::inspect {

namespace {

using Names = std::vector<std::pair<std::string, std::string>>;  // function and file

void add(std::map<Names, Change>& sums, const History& history, NamedStacks& stacks, Which which,
         bool is_after) {
  for (const Weight weight : {Weight::Bytes, Weight::Count}) {
    for (const auto& [numbers, value] : weigh(history, stacks, which, weight)) {
      Names names;
      std::vector<std::string> frames;
      for (const uint32_t number : numbers) {
        const NamedFrame& frame = stacks.frame(number);
        names.emplace_back(frame.name, frame.file);
        const std::string name = shortened(frame.name, kFunctionMost);
        frames.push_back(frame.line > 0
                             ? fmt::format("{} at {}:{}", name,
                                           frame.file.substr(frame.file.find_last_of('/') + 1), frame.line)
                             : name);
      }
      Change& change = sums[names];
      change.frames = std::move(frames);
      if (weight == Weight::Bytes) {
        (is_after ? change.after_bytes : change.before_bytes) += value;
      } else {
        (is_after ? change.after_count : change.before_count) += value;
      }
    }
  }
}

}  // namespace

std::vector<Change> changes(const History& before, NamedStacks& before_stacks, const History& after,
                            NamedStacks& after_stacks, Which which) {
  std::map<Names, Change> sums;
  add(sums, before, before_stacks, which, false);
  add(sums, after, after_stacks, which, true);
  std::vector<Change> list;
  for (auto& [names, change] : sums)
    if (change.before_bytes != change.after_bytes || change.before_count != change.after_count)
      list.push_back(std::move(change));
  std::stable_sort(list.begin(), list.end(), [](const Change& a, const Change& b) {
    return std::llabs(a.grown()) > std::llabs(b.grown());
  });
  return list;
}

}  // namespace plat::inspect
