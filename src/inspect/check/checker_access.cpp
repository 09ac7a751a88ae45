// SPDX-License-Identifier: Apache-2.0
// Copies and fills against what is there.
#include <fmt/format.h>

#include "inspect/check/checker.h"
#include "inspect/check/wording.h"

namespace plat::inspect {

namespace {

constexpr uint64_t kReach = 1 << 20;  // how far away a block is still worth mentioning

constexpr uint64_t kRoundingMax = 512;  // pools round the sizes of blocks up to multiples of this

}  // namespace

void Checker::add_neighbours(Finding& finding, const Ranges& ranges, uint64_t address) const {
  // The block itself has been named.
  const uint64_t named = finding.related.empty() ? 0 : finding.related.front().born.event;
  Ranges::Range range;
  if (ranges.find_before(address, range) && address - range.end <= kReach &&
      model_.object(range.value).born.event != named)
    finding.related.push_back(Related::of("before", model_.object(range.value)));
  if (ranges.find_after(address, range) && range.start - address <= kReach)
    finding.related.push_back(Related::of("next", model_.object(range.value)));
}

void Checker::access(const Access& access) {
  for (const auto& [range, thread] : moving_)
    if (thread == access.event.thread) return;
  check_documented(access);
  bool wrong = false;
  for (const auto& [name, layer] : model_.layers()) wrong = check_layer(access, layer) || wrong;
  Ranges::Range range;
  if (model_.memory().find(access.address, range)) {
    const Object& block = model_.object(range.value);
    if (!wrong) wrong = block.kind == Kind::Mapping ? check_mapping(access) : check_block(access, block);
  } else if (!wrong && access.on_device && !model_.is_view(access.address)) {
    bool in_region = false;
    for (const auto& [name, layer] : model_.layers()) in_region |= layer.regions.find(access.address, range);
    if (in_region) return;  // the program vouches for it
    check_nothing_there(access);
    return;
  }
  if (wrong) return;
  if (check_order(access) && options_.races) check_race(access);
  if (!access.write && access.for_host && options_.unwritten && access.event.succeeded())
    check_written(access);
}

bool Checker::check_layer(const Access& access, const Layer& layer) {
  Ranges::Range range;
  RangeMap<char>::Range disputed;
  if (layer.disputed.find(access.address, disputed)) return false;
  if (layer.regions.find(access.address, range))
    return check_region(access, layer, model_.object(range.value));
  const bool in_heap = layer.heaps.find(access.address, range);
  const Object* const heap = in_heap ? &model_.object(range.value) : nullptr;
  if (layer.freed.find(access.address, range) && (in_heap || layer.dialect)) {
    const Object& region = model_.object(range.value);
    Finding finding = about(access, RuleId::AccessFreed,
                            fmt::format("{} {} at {:#x}, {} into a region of {} that was given back",
                                        verb(access.write), bytes(access.size), access.address,
                                        bytes(access.address - region.start), bytes(region.size)));
    finding.related.push_back(Related::of("freed", region));
    add_neighbours(finding, layer.regions, access.address);
    add(std::move(finding));
    return true;
  }
  if (!in_heap) return false;
  Finding finding = about(
      access, RuleId::AccessOutsideRegions,
      fmt::format("{} {} at {:#x}, {} into the heap at {:#x}, where no region is", verb(access.write),
                  bytes(access.size), access.address, bytes(access.address - heap->start), heap->start));
  finding.related.push_back(Related::of("heap", *heap));
  add_neighbours(finding, layer.regions, access.address);
  add(std::move(finding));
  return true;
}

bool Checker::check_region(const Access& access, const Layer& layer, const Object& region) {
  // SHARED alone is how a library says that others may use the region: it closes nothing.
  const uint32_t needed = access.write ? 2 : 1;
  const bool open = (region.permissions & needed) != 0 || region.permissions == 4;
  if (!open) {
    Finding finding =
        about(access, RuleId::AccessPermission,
              fmt::format("{} {} at {:#x} of a region with permissions {:#x}", verb(access.write),
                          bytes(access.size), access.address, region.permissions));
    finding.related.push_back(Related::of("accessed", region));
    add(std::move(finding));
    return true;
  }
  const uint64_t end = access.address + access.size;
  if (end <= region.end()) return false;
  Ranges::Range next;
  const bool hits = layer.regions.find_after(region.end(), next) && next.start < end;
  Finding finding =
      about(access, hits ? RuleId::AccessNeighbour : RuleId::AccessPastEnd,
            fmt::format("{} {} at {:#x}: {} past the end of a region of {}", verb(access.write),
                        bytes(access.size), access.address, bytes(end - region.end()), bytes(region.size)));
  finding.related.push_back(Related::of("accessed", region));
  add_neighbours(finding, layer.regions, region.end());
  add(std::move(finding));
  return true;
}

bool Checker::check_block(const Access& access, const Object& block) {
  const uint64_t end = access.address + access.size;
  if (block.kind == Kind::HostRegistration || end <= block.end()) return false;
  Ranges::Range next;
  const bool hits = model_.memory().find_after(block.end(), next) && next.start < end;
  const bool padding = end <= block.start + block.usable;
  const RuleId rule = padding ? RuleId::AccessPadding
                      : hits  ? RuleId::AccessNeighbour
                              : RuleId::AccessPastEnd;
  Finding finding = about(
      access, rule,
      fmt::format("{} {} at {:#x}: {} past the end of a {} of {}", verb(access.write), bytes(access.size),
                  access.address, bytes(end - block.end()), name_of(block.kind), bytes(block.size)));
  finding.related.push_back(Related::of("accessed", block));
  add_neighbours(finding, model_.memory(), block.end());
  add(std::move(finding));
  return true;
}

// Mappings that touch are one piece of memory.
bool Checker::check_mapping(const Access& access) {
  const uint64_t end = access.address + access.size;
  uint64_t covered = access.address;
  Ranges::Range range;
  while (covered < end && model_.memory().find(covered, range)) covered = range.end;
  if (covered >= end) return false;
  Finding finding = about(
      access, RuleId::UseUnmapped,
      fmt::format("{} {} at {:#x}, of which the last {} from {:#x} on are not mapped", verb(access.write),
                  bytes(access.size), access.address, bytes(end - covered), covered));
  add_neighbours(finding, model_.memory(), covered);
  add(std::move(finding));
  return true;
}

void Checker::check_nothing_there(const Access& access) {
  Ranges::Range range;
  const auto far = [&](const char* what) {
    return fmt::format("{} {} at {:#x}, {}", verb(access.write), bytes(access.size), access.address, what);
  };
  if (model_.freed_memory().find(access.address, range)) {
    const Object& block = model_.object(range.value);
    const bool ordered = block.died.op == Op::aclrtMemPoolFreeAsync;
    Finding finding =
        about(access, ordered ? RuleId::OrderAfterFree : RuleId::AccessFreed,
              far(fmt::format("{} into a {} of {} that was given back", bytes(access.address - block.start),
                              name_of(block.kind), bytes(block.size))
                      .c_str()));
    finding.related.push_back(Related::of("freed", block));
    add(std::move(finding));
    return;
  }
  // Just behind a block, where only its padding is.
  if (model_.memory().find_before(access.address, range)) {
    const Object& block = model_.object(range.value);
    if (block.kind != Kind::Mapping && access.address < block.start + block.usable + kReach &&
        !model_.reservations().find(access.address, range)) {
      const bool padding = access.address + access.size <= block.start + block.usable;
      Finding finding =
          about(access, padding ? RuleId::AccessPadding : RuleId::AccessPastEnd,
                far(fmt::format("{} past the end of a {} of {}", bytes(access.address - block.end()),
                                name_of(block.kind), bytes(block.size))
                        .c_str()));
      finding.related.push_back(Related::of("before", block));
      add(std::move(finding));
      return;
    }
  }
  const bool reserved = model_.reservations().find(access.address, range);
  Finding finding = about(access, reserved ? RuleId::UseUnmapped : RuleId::AccessUnknown,
                          far(reserved ? "which is reserved but not mapped" : "where nothing was allocated"));
  if (reserved) finding.related.push_back(Related::of("reservation", model_.object(range.value)));
  add_neighbours(finding, model_.memory(), access.address);
  add(std::move(finding));
}

void Checker::check_written(const Access& access) {
  if (model_.is_opaque(access.address)) return;
  Ranges::Range range;
  uint64_t since = 0;  // what was written before the region was handed out is not its content
  const Object* region = nullptr;
  for (const auto& [name, layer] : model_.layers())
    if (layer.regions.find(access.address, range)) {
      const Object& found = model_.object(range.value);
      if (found.born.event <= since || found.replayed || found.disputed) continue;
      region = &found;
      since = found.born.event;
    }
  uint64_t written = 0, stale = 0, first_gap = access.address;
  model_.for_each_written(access.address, access.size, [&](uint64_t start, uint64_t end, uint64_t event) {
    (event >= since ? written : stale) += end - start;
    if (event >= since && start == first_gap) first_gap = end;
  });
  if (written == access.size) return;
  if (region == nullptr && model_.memory().find(access.address, range)) region = &model_.object(range.value);
  // Who saves a whole block saves what was added to round its size up.
  const uint64_t end = access.address + access.size;
  const bool is_whole = region != nullptr && access.address == region->start && end == region->end();
  if (is_whole && first_gap > access.address && end - first_gap == access.size - written &&
      end - first_gap < kRoundingMax)
    return;
  const uint64_t missing = access.size - written;
  Finding finding =
      about(access, stale > 0 ? RuleId::ReadReused : RuleId::ReadUnwritten,
            stale > 0 ? fmt::format("{} of {} at {:#x} were last written for a block that had the "
                                    "address before; the first is {:#x}",
                                    stale, bytes(access.size), access.address, first_gap)
                      : fmt::format("{} of {} at {:#x} were never written; the first is {:#x}", missing,
                                    bytes(access.size), access.address, first_gap));
  if (region != nullptr) finding.related.push_back(Related::of("accessed", *region));
  add(std::move(finding));
}

void Checker::check_documented(const Access& access) {
  // Newer documents no longer have the rule, and copies from ordinary host memory break it all the time.
  if (!access.asynchronous || access.address % 64 == 0 || !options_.pedantic) return;
  const Op op = access.event.op;
  if (op != Op::aclrtMemcpyAsync && op != Op::aclrtMemcpyAsyncWithCondition) return;
  add(about(access, RuleId::RuleAsyncAligned,
            fmt::format("{} at {:#x}, which is {} past a multiple of 64", verb(access.write), access.address,
                        access.address % 64)));
}

}  // namespace plat::inspect
