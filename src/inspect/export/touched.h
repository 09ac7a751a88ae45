// SPDX-License-Identifier: Apache-2.0
// Which life an access touches: the last one that was given the address.
#pragma once

#include <functional>

#include "inspect/export/history.h"
#include "inspect/model/range_map.h"

namespace plat::inspect {

// Walks through a history in its order. step(step) for every birth and death, touch(touch, life) for every
// access; life is -1 for memory that nobody handed out, and a region rather than the memory it lies in.
template <class OnStep, class OnTouch>
void walk(const History& history, OnStep&& on_step, OnTouch&& on_touch) {
  RangeMap<uint32_t> regions, memory;
  const auto find = [&](uint64_t address) -> int64_t {
    RangeMap<uint32_t>::Range range;
    if (regions.find(address, range) || memory.find(address, range)) return range.value;
    return -1;
  };
  auto touch = history.touches.begin();
  const auto touch_until = [&](uint64_t event) {
    for (; touch != history.touches.end() && touch->site.event < event; ++touch)
      on_touch(*touch, find(touch->address));
  };
  for (const Step& step : history.steps) {
    const Life& life = history.lives[step.life];
    touch_until(step.birth ? life.born.event : life.died.event);
    if (life.is_memory() && life.start != 0 && life.size != 0) {
      RangeMap<uint32_t>& map = life.kind == Kind::Region ? regions : memory;
      if (step.birth) {
        map.assign(life.start, life.start + life.size, step.life);
      } else {
        map.erase(life.start, life.start + life.size);
      }
    }
    on_step(step);
  }
  touch_until(UINT64_MAX);
}

}  // namespace plat::inspect
