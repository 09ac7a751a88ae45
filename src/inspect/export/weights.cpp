// SPDX-License-Identifier: Apache-2.0
#include "inspect/export/export.h"

namespace plat::inspect {

Weights weigh(const History& history, NamedStacks& stacks, Which which, Weight weight) {
  Weights weights;
  std::vector<bool> is_in(history.lives.size(), which == Which::Allocated);
  const size_t steps = which == Which::AtPeak  ? history.peak_steps
                       : which == Which::AtEnd ? history.steps.size()
                                               : 0;
  for (size_t i = 0; i < steps; ++i) is_in[history.steps[i].life] = history.steps[i].birth;
  for (size_t i = 0; i < history.lives.size(); ++i) {
    const Life& life = history.lives[i];
    if (is_in[i] && life.counts) weights[stacks.of(life.born)] += weight == Weight::Bytes ? life.size : 1;
  }
  return weights;
}

}  // namespace plat::inspect
