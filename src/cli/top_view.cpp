// SPDX-License-Identifier: Apache-2.0
#include "cli/top_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "base/text.h"

namespace plat::cli {

namespace {

// A terminal is narrow, and the end of a line is what it cuts off: the line of the program comes first.
std::string place_of(const inspect::Frame& frame) {
  if (frame.line == 0) return inspect::to_text(frame);
  constexpr size_t kNameMost = 30;
  return fmt::format("{}:{} {}", frame.file.substr(frame.file.rfind('/') + 1), frame.line,
                     inspect::shortened(frame.function, kNameMost));
}

constexpr std::array kNames = {"bytes", "grown", "count", "births"};

std::string grown_text(int64_t bytes) {
  if (bytes == 0) return "";
  return (bytes < 0 ? "-" : "+") + format_bytes(static_cast<uint64_t>(std::llabs(bytes)));
}

}  // namespace

const char* name_of(SortBy order) { return kNames[static_cast<size_t>(order)]; }
SortBy next_of(SortBy order) { return static_cast<SortBy>((static_cast<size_t>(order) + 1) % kNames.size()); }

std::vector<std::string> TopView::lines(const inspect::Report& report, inspect::Symbols& symbols) {
  const auto key_of = [](const inspect::Owner& owner) {
    return Key{owner.kind, owner.name, owner.site.stack};
  };
  if (!has_looked_) {
    for (const inspect::Owner& owner : report.at_end) first_[key_of(owner)] = owner.live_bytes;
    first_bytes_ = last_bytes_ = report.live_bytes;
    has_looked_ = true;
  }
  const auto grown = [&](const inspect::Owner& owner) {
    const auto before = first_.find(key_of(owner));
    return static_cast<int64_t>(owner.live_bytes) -
           static_cast<int64_t>(before != first_.end() ? before->second : 0);
  };
  const auto change = [](uint64_t now, uint64_t then) {
    return static_cast<int64_t>(now) - static_cast<int64_t>(then);
  };
  std::vector<std::string> lines;
  lines.push_back(fmt::format("pid {}: {}", report.info.pid, visible(report.info.program)));
  const auto change_text = [&](uint64_t then) {
    return report.live_bytes == then ? "unchanged" : grown_text(change(report.live_bytes, then));
  };
  lines.push_back(fmt::format("device memory {} now, peak {}", format_bytes(report.live_bytes),
                              format_bytes(report.peak_bytes)));
  lines.push_back(fmt::format("  {} since the last look, {} since the first", change_text(last_bytes_),
                              change_text(first_bytes_)));
  last_bytes_ = report.live_bytes;
  bool titled = false;
  for (const inspect::Holes& heap : report.holes_at_end) {
    if (heap.kind != inspect::Kind::Heap) continue;
    if (!titled)
      lines.insert(lines.end(), {"", fmt::format("{:>12} {:>12} {:>12} {:>6}  {}", "used", "of",
                                                 "largest free", "gaps", "pool")});
    titled = true;
    lines.push_back(fmt::format("{:>12} {:>12} {:>12} {:>6}  {}", format_bytes(heap.used_bytes),
                                format_bytes(heap.held_bytes), format_bytes(heap.largest_free),
                                heap.free_ranges, visible(heap.name)));
  }
  std::vector<inspect::Owner> owners = report.at_end;
  std::stable_sort(owners.begin(), owners.end(), [&](const inspect::Owner& a, const inspect::Owner& b) {
    if (a.group != b.group) return a.group < b.group;
    switch (order) {
      case SortBy::Grown:
        return grown(a) > grown(b);
      case SortBy::Count:
        return a.live_count > b.live_count;
      case SortBy::Births:
        return a.births > b.births;
      case SortBy::Bytes:
        break;
    }
    return a.live_bytes > b.live_bytes;
  });
  lines.push_back("");
  lines.push_back(
      fmt::format("{:>11} {:>11} {:>6} {:>6}  {}", "bytes", "grown", "count", "births", "who holds it"));
  for (const inspect::Owner& owner : owners) {
    const auto frames = symbols.frames_of(owner.site.stack);
    lines.push_back(fmt::format(
        "{:>11} {:>11} {:>6} {:>6}  {}{}{}", format_bytes(owner.live_bytes), grown_text(grown(owner)),
        owner.live_count, owner.births, frames.empty() ? "" : visible(place_of(frames.front())) + ", ",
        name_of(owner.kind), owner.name.empty() ? "" : fmt::format(" of '{}'", visible(owner.name))));
  }
  return lines;
}

}  // namespace plat::cli
