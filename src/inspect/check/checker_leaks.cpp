// What is left: at the end, when a device is reset, and from mark to mark.
#include <fmt/format.h>

#include "base/text.h"
#include "base/units.h"
#include "inspect/check/checker.h"

namespace plat::inspect {

namespace {

RuleId leak_rule(const Object& object) {
  switch (object.kind) {
    case Kind::DeviceBlock:
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
  }
  return RuleId::LeakDeviceBlock;
}

}  // namespace

void Checker::leak(const Object& object, const Event* taken_back) {
  Finding finding;
  finding.rule = leak_rule(object);
  finding.site = object.born;  // grouped by where it came from
  finding.address = object.start;
  finding.size = finding.bytes = object.size;
  finding.detail = object.size != 0 ? fmt::format("a {} of {} at {:#x}", name_of(object.kind),
                                                  format_bytes(object.size), object.start)
                                    : fmt::format("the {} {:#x}", name_of(object.kind), object.start);
  finding.detail += taken_back != nullptr
                        ? fmt::format(" was not given back before {}", info_of(taken_back->op).name)
                        : " was never given back";
  finding.detail += growth_of(object.kind, object.born.stack);
  finding.related.push_back(Related::of("leaked", object));
  add(std::move(finding));
}

void Checker::sample_growth(const Event& mark) {
  auto& series = growth_[mark.text];
  for (const auto& [key, group] : groups_) {
    Growth& growth = series[key];
    if (growth.marks == 0) {
      growth.first = group.bytes;
      growth.first_count = group.count;
    } else if (group.count > growth.last_count) {
      ++growth.rises;
    }
    ++growth.marks;
    growth.last = group.bytes;
    growth.last_count = group.count;
  }
}

std::string Checker::growth_of(Kind kind, uint32_t stack) const {
  for (const auto& [text, series] : growth_) {
    const auto found = series.find({kind, stack});
    if (found == series.end() || found->second.rises == 0) continue;
    const Growth& growth = found->second;
    return fmt::format("; from here {} more came at {} of {} marks '{}'",
                       growth.last_count - growth.first_count, growth.rises, growth.marks, text);
  }
  return "";
}

void Checker::report_growth() {
  for (const auto& [text, series] : growth_)
    for (const auto& [key, growth] : series) {
      // Every mark but the first, and often enough to be no start-up effect.
      if (growth.marks < 4 || growth.rises + 1 < growth.marks) continue;
      Finding finding;
      finding.rule = RuleId::GrowthMarks;
      finding.site = group_sites_[key];
      finding.detail = fmt::format("{}s from here grew at {} of {} marks '{}': from {} ({}) to {} ({})",
                                   name_of(key.first), growth.rises, growth.marks, text, growth.first_count,
                                   format_bytes(growth.first), growth.last_count, format_bytes(growth.last));
      finding.bytes = growth.last - std::min(growth.last, growth.first);
      add(std::move(finding));
    }
}

void Checker::check_region_shape(const Object& region) {
  const auto tell = [&](RuleId rule, std::string detail) {
    Finding finding;
    finding.rule = rule;
    finding.site = region.born;
    finding.detail = std::move(detail);
    finding.related.push_back(Related::of("registered", region));
    add(std::move(finding));
  };
  if (region.start % 64 != 0)
    tell(RuleId::RuleBlockStart,
         fmt::format("{:#x} is {} past a multiple of 64", region.start, region.start % 64));
  for (const auto& [name, layer] : model_.layers()) {
    Ranges::Range range;
    if (!layer.regions.find(region.start, range) || range.value != region.id) continue;
    if (layer.regions.find_after(region.end(), range) && range.start < align_up(region.end(), 32) + 32)
      tell(RuleId::RuleBlockRoom,
           fmt::format("the next block starts {} bytes behind the end", range.start - region.end()));
  }
}

}  // namespace plat::inspect
