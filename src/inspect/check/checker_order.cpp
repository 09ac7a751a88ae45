// SPDX-License-Identifier: Apache-2.0
// Work that uses memory, against the order of streams.
#include <fmt/format.h>

#include "inspect/check/checker.h"
#include "inspect/check/wording.h"

namespace plat::inspect {

bool Checker::check_order(const Access& access) {
  if (!access.event.succeeded()) return true;
  bool ordered = true;
  Ranges::Range range;
  if (model_.memory().find(access.address, range)) {
    const Object& block = model_.object(range.value);
    if (block.allocated.count != 0 && !model_.order().is_before(block.allocated, access.actor)) {
      Finding finding =
          about(access, RuleId::OrderBeforeAllocation,
                fmt::format("{} {} at {:#x}; the block was allocated on stream {:#x}, which nothing "
                            "orders before this",
                            verb(access.write), bytes(access.size), access.address, block.stream));
      finding.related.push_back(Related::of("accessed", block));
      add(std::move(finding));
      ordered = false;
    }
  }
  for (const auto& [name, layer] : model_.layers()) {
    if (!layer.regions.find(access.address, range)) continue;
    const Object& region = model_.object(range.value);
    for (const Use& use : region.inherited) {
      if (model_.order().is_before(use.position, access.actor)) continue;
      Finding finding =
          about(access, RuleId::OrderReuse,
                fmt::format("{} {} at {:#x}, while {} of event {} on another stream may still use "
                            "these bytes for an earlier block",
                            verb(access.write), bytes(access.size), access.address, info_of(use.site.op).name,
                            use.site.event));
      finding.related.push_back(Related::of("accessed", region));
      Related earlier = finding.related.front();
      earlier.role = "used by";
      earlier.born = use.site;
      finding.related.push_back(earlier);
      add(std::move(finding));
      ordered = false;
      break;
    }
  }
  return ordered;
}

void Checker::check_race(const Access& access) {
  // Flags that streams wait for and set are what orders them.
  if (access.signals || !access.event.succeeded()) return;
  uint64_t since = 0;  // when the block that is there now was handed out
  Ranges::Range range;
  const Object* region = nullptr;
  for (const auto& [name, layer] : model_.layers())
    if (layer.regions.find(access.address, range) && model_.object(range.value).born.event > since) {
      region = &model_.object(range.value);
      since = region->born.event;
    }
  const auto conflict = races_.note(access, since);
  if (!conflict) return;
  if (region == nullptr && model_.memory().find(access.address, range)) region = &model_.object(range.value);
  // The same again needs no words, and where streams race they do it at every step.
  const Likeness again{RuleId::OrderRace,
                       access.event.op,
                       access.write,
                       place_of(access.event.stack),
                       region != nullptr ? size_t{2} : size_t{1},
                       place_of(region != nullptr ? region->born.stack : conflict->earlier.stack)};
  if (again.stack != 0 && count_again(again, 0, nullptr)) return;
  const Site& earlier = conflict->earlier;
  const auto who = [](bool queued, uint64_t stream) {
    if (!queued) return std::string("the host");
    return stream != 0 ? fmt::format("stream {:#x}", stream) : std::string("the default stream");
  };
  const uint32_t here = access.event.thread, there = earlier.thread;
  Finding finding = about(access, RuleId::OrderRace, {});
  finding.certainty = here == there ? "sure" : "likely";
  if (region != nullptr) finding.related.push_back(Related::of("accessed", *region));
  Related other;
  if (region != nullptr) other = finding.related.front();
  other.role = "used by";
  other.born = earlier;
  other.died = {};
  finding.related.push_back(other);
  finding.detail = fmt::format(
      "{} {} {} at {:#x} that {} of event {} {} on {}; {}", who(access.asynchronous, access.stream),
      verb(access.write), bytes(conflict->size), conflict->start, info_of(earlier.op).name, earlier.event,
      verb(conflict->earlier_writes), who(true, conflict->earlier_stream),
      here == there ? "no call orders the two"
                    : "no call orders the two, made by different threads, whose own order is not seen");
  add(std::move(finding));
}

}  // namespace plat::inspect
