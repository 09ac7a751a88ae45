// SPDX-License-Identifier: Apache-2.0
#include "replay/imported.h"

#include <map>
#include <vector>

#include "inspect/import/imported.h"

namespace plat::replay {

namespace {

using inspect::Held;
using inspect::Imported;
using inspect::ImportedLife;
using inspect::ImportedStep;

// Which lives a pool took to divide: those in which something was handed out.
std::vector<bool> divided_lives(const Imported& imported) {
  std::vector<bool> divided(imported.lives.size(), false);
  std::map<std::pair<int32_t, uint64_t>, uint32_t> taken;  // by address
  for (const ImportedStep& step : imported.steps) {
    if (step.what == ImportedStep::Mark) continue;
    const ImportedLife& life = imported.lives[step.life];
    const std::pair place(life.device, life.address);
    if (life.held == Held::Taken && step.what == ImportedStep::Birth) taken[place] = step.life;
    if (life.held == Held::Taken && step.what == ImportedStep::Death) taken.erase(place);
    if (life.held == Held::Taken && imported.divides_all) divided[step.life] = true;
    if (life.held != Held::Handed || step.what != ImportedStep::Birth) continue;
    // It may lie over several pieces, which are mapped one behind the other.
    auto holder = taken.upper_bound(place);
    if (holder != taken.begin()) --holder;
    for (; holder != taken.end() && holder->first < std::pair(life.device, life.address + life.size);
         ++holder) {
      const ImportedLife& around = imported.lives[holder->second];
      if (around.device == life.device && around.address + around.size > life.address)
        divided[holder->second] = true;
    }
  }
  return divided;
}

}  // namespace

bool read_imported(const std::string& content, Builder& builder, std::string& why) {
  const auto imported = inspect::read_import(content, why);
  if (!imported) return false;
  const std::vector<bool> divided = divided_lives(*imported);
  const auto counts = [&](const ImportedStep& step) {
    return step.what != ImportedStep::Mark && imported->lives[step.life].held != Held::Host &&
           !divided[step.life];
  };
  std::map<int32_t, size_t> steps;
  int32_t busiest = 0;
  for (const ImportedStep& step : imported->steps)
    if (const int32_t device = counts(step) ? imported->lives[step.life].device : -1;
        device >= 0 && ++steps[device] > steps[busiest])
      busiest = device;
  for (const ImportedStep& step : imported->steps) {
    if (!counts(step) || imported->lives[step.life].device != busiest) continue;
    const ImportedLife& life = imported->lives[step.life];
    if (step.what == ImportedStep::Birth)
      builder.allocate(step.life, life.size, life.stream);
    else
      builder.release(step.life, life.stream);
  }
  return true;
}

}  // namespace plat::replay
