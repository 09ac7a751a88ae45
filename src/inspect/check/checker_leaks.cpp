// SPDX-License-Identifier: Apache-2.0
// What is left: at the end, when a device is reset, and from mark to mark.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/units.h"
#include "inspect/check/checker.h"

namespace plat::inspect {

namespace {

RuleId leak_rule(const Object& object) {
  switch (object.kind) {
    case Kind::DeviceBlock:
    case Kind::ManagedBlock:
      return RuleId::LeakDeviceBlock;
    case Kind::HostBlock:
      return RuleId::LeakHostBlock;
    case Kind::HostRegistration:
      return RuleId::LeakHostRegistration;
    case Kind::PoolBlock:
      return RuleId::LeakPoolBlock;
    case Kind::Import:
      return RuleId::LeakImport;
    case Kind::Physical:
      return object.imported ? RuleId::LeakImport : RuleId::LeakPhysical;
    case Kind::Reservation:
      return RuleId::LeakReservation;
    case Kind::Mapping:
      return RuleId::LeakMapping;
    case Kind::Heap:
      return RuleId::LeakHeap;
    case Kind::Region:
      return RuleId::LeakRegion;
    case Kind::Stream:
      return RuleId::LeakStream;
    case Kind::Event:
      return RuleId::LeakEvent;
    case Kind::Context:
      return RuleId::LeakContext;
    case Kind::Pool:
      return RuleId::LeakPool;
    case Kind::Mbuf:
      return RuleId::LeakMbuf;
  }
  return RuleId::LeakDeviceBlock;
}

}  // namespace

void Checker::leak(const Object& object, const Event* taken_back) {
  if (object.disputed || model_.is_held_by_pool(object)) return;
  if (object.kind == Kind::Mbuf && object.parent != 0) return;  // goes with the head of its chain
  // A pool may live as long as its process, but not longer than its device, or than the part that is checked.
  if (object.kind == Kind::Heap && taken_back == nullptr && !options_.is_leak) return;
  Finding finding;
  finding.rule = leak_rule(object);
  finding.is_leak = true;
  finding.site = object.born;  // grouped by where it came from
  finding.address = object.start;
  finding.size = finding.bytes = object.size;
  finding.detail = object.size != 0 ? fmt::format("a {} of {} at {:#x}", name_of(object.kind),
                                                  format_bytes(object.size), object.start)
                                    : fmt::format("the {} {:#x}", name_of(object.kind), object.start);
  if (object.kind == Kind::Physical && !object.name.empty())
    finding.detail += fmt::format(" on memory of {}", object.name);
  finding.detail += taken_back != nullptr
                        ? fmt::format(" was not given back before {}", info_of(taken_back->op).name)
                        : " was never given back";
  finding.detail += growth_of(object.kind, object.born.stack);
  finding.related.push_back(Related::of("leaked", object));
  add(std::move(finding));
}

std::string Checker::growth_of(Kind kind, uint32_t stack) const {
  for (const auto& [text, all] : growth_.series()) {
    const auto found = all.find({kind, growth_.place_of(stack)});
    if (found == all.end() || found->second.rises == 0) continue;
    const GrowthSeries& series = found->second;
    return fmt::format("; from here {} more came at {} of {} marks '{}'",
                       series.last_count - std::min(series.last_count, series.first_count), series.rises,
                       series.marks, text);
  }
  return "";
}

void Checker::report_growth() {
  for (const auto& [text, all] : growth_.series())
    for (const auto& [key, series] : all) {
      if (!series.keeps_growing()) continue;
      Finding finding;
      finding.rule = RuleId::GrowthMarks;
      finding.site = series.site;
      finding.detail =
          fmt::format("{}s from here grew at {} of {} marks '{}': from {} ({}) to {} ({})",
                      name_of(key.first), series.rises, series.marks, text, series.first_count,
                      format_bytes(series.first_bytes), series.last_count, format_bytes(series.last_bytes));
      finding.bytes = series.last_bytes - std::min(series.last_bytes, series.first_bytes);
      add(std::move(finding));
    }
}

void Checker::report_open_ranges() {
  // Of a part of a trace nobody knows what ends behind it.
  if (!options_.ended || options_.is_leak) return;
  for (const auto& [number, range] : open_ranges_) {
    Finding finding;
    finding.rule = RuleId::MstxRangeOpen;
    finding.site = range.site;
    finding.detail = fmt::format("the range '{}' was never ended", range.text);
    add(std::move(finding));
  }
}

// Whichever of two blocks is cut later: the room belongs to the lower one.
void Checker::check_region_shape(const Object& region) {
  const auto tell = [&](RuleId rule, const Object& block, std::string detail) {
    Finding finding;
    finding.rule = rule;
    finding.site = region.born;
    finding.detail = std::move(detail);
    finding.related.push_back(Related::of("registered", block));
    add(std::move(finding));
  };
  const auto has_room = [&](const Object& lower, uint64_t upper) {
    if (upper >= align_up(lower.end(), 32) + 32) return;
    tell(RuleId::RuleBlockRoom, lower,
         fmt::format("the next block starts {} bytes behind the end", upper - lower.end()));
  };
  if (region.start % 64 != 0)
    tell(RuleId::RuleBlockStart, region,
         fmt::format("{:#x} is {} past a multiple of 64", region.start, region.start % 64));
  for (const auto& [name, layer] : model_.layers()) {
    Ranges::Range range;
    if (!layer.regions.find(region.start, range) || range.value != region.id) continue;
    if (layer.regions.find_after(region.end(), range)) has_room(region, range.start);
    if (layer.regions.find_before(region.start, range)) has_room(model_.object(range.value), region.start);
  }
}

}  // namespace plat::inspect
