// SPDX-License-Identifier: Apache-2.0
#include "cli/report_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "base/text.h"

namespace plat::cli {

namespace {

using inspect::Json;

// The most that lived in each column's time.
std::vector<uint64_t> columns_of(const inspect::Report& report, size_t width) {
  std::vector<uint64_t> columns(width, 0);
  const uint64_t end = std::max<uint64_t>(report.end_ns, 1);
  uint64_t before = 0;
  size_t reached = 0;
  for (const auto& [time, bytes] : report.timeline) {
    const auto column =
        std::min<size_t>(width - 1, static_cast<size_t>(static_cast<long double>(time) / end * width));
    for (; reached < column; ++reached) columns[reached + 1] = std::max(columns[reached + 1], before);
    columns[column] = std::max(columns[column], bytes);
    before = bytes;
  }
  for (; reached + 1 < width; ++reached) columns[reached + 1] = std::max(columns[reached + 1], before);
  return columns;
}

std::string graph(const inspect::Report& report, size_t width) {
  constexpr size_t kRows = 8;
  static const char* const kParts[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const auto columns = columns_of(report, width);
  const long double peak = static_cast<long double>(std::max<uint64_t>(report.peak_bytes, 1));
  std::string text;
  for (size_t row = kRows; row-- > 0;) {
    text += row == kRows - 1 ? fmt::format("{:>10} |", format_bytes(report.peak_bytes)) : "           |";
    for (const uint64_t bytes : columns) {
      const long double height =
          static_cast<long double>(bytes) / peak * kRows - static_cast<long double>(row);
      text += kParts[static_cast<size_t>(std::clamp<long double>(height * 8, 0, 8))];
    }
    text += '\n';
  }
  text += fmt::format("{:>10} +{}\n{:>12}{:>{}.3f} ms\n", "0", std::string(width, '-'), "0",
                      static_cast<double>(report.end_ns) / 1e6, width - 3);
  return text;
}

void add_stack(std::string& text, inspect::Symbols& symbols, const inspect::Site& site, size_t frames) {
  const auto named = symbols.frames_of(site.stack);
  for (size_t i = 0; i < named.size() && i < frames; ++i)
    text += fmt::format("        {}\n", visible(to_text(named[i])));
}

std::string title_of(const inspect::Owner& owner, uint64_t count) {
  return fmt::format("{}{}{}", name_of(owner.kind), count == 1 ? "" : "s",
                     owner.name.empty() ? "" : " of '" + visible(owner.name) + "'");
}

// "... and 3 more (--rows)", if a list has more than are shown.
std::string rest_of(size_t count, size_t rows) {
  return count > rows ? fmt::format("  ... and {} more (--rows)\n", count - rows) : "";
}

const char* title_of(inspect::Group group, bool live) {
  switch (group) {
    case inspect::Group::Device:
      return live ? "Who holds it now" : "Who held it at the peak";
    case inspect::Group::Pools:
      return live ? "What pools have handed out" : "What pools had handed out then";
    case inspect::Group::Host:
      return live ? "Host memory" : "Host memory then";
    case inspect::Group::Other:
      return live ? "Managed memory, and that of other processes"
                  : "Managed memory then, and that of other processes";
    case inspect::Group::Addresses:
      break;
  }
  return live ? "Addresses" : "Addresses then";
}

std::vector<inspect::Owner> owners_of(const std::vector<inspect::Owner>& all, inspect::Group group) {
  std::vector<inspect::Owner> some;
  std::copy_if(all.begin(), all.end(), std::back_inserter(some),
               [&](const inspect::Owner& owner) { return owner.group == group; });
  return some;
}

void add_holes(std::string& text, const std::vector<inspect::Holes>& all, size_t rows) {
  for (size_t i = 0; i < all.size() && i < rows; ++i) {
    const inspect::Holes& holes = all[i];
    text += fmt::format(
        "  {:<12} {:#014x}  used {:>10} of {:>10}  largest free {:>10}  {} free range{}, {:.0f} % holes\n",
        name_of(holes.kind), holes.start, format_bytes(holes.used_bytes), format_bytes(holes.held_bytes),
        format_bytes(holes.largest_free), holes.free_ranges, holes.free_ranges == 1 ? "" : "s",
        holes.share() * 100);
  }
  text += rest_of(all.size(), rows);
}

Json to_json(const inspect::Owner& owner, inspect::Symbols& symbols) {
  return {{"kind", name_of(owner.kind)},
          {"group", name_of(owner.group)},
          {"owner", owner.name},
          {"live_count", owner.live_count},
          {"live_bytes", owner.live_bytes},
          {"allocations", owner.births},
          {"allocated_bytes", owner.born_bytes},
          {"temporary", owner.temporary},
          {"site", inspect::to_json(owner.site, symbols)}};
}

Json to_json(const std::vector<inspect::Holes>& all) {
  Json list = Json::array();
  for (const inspect::Holes& holes : all)
    list.push_back({{"kind", name_of(holes.kind)},
                    {"owner", holes.name},
                    {"address", fmt::format("{:#x}", holes.start)},
                    {"bytes", holes.size},
                    {"held_bytes", holes.held_bytes},
                    {"used_bytes", holes.used_bytes},
                    {"largest_free_bytes", holes.largest_free},
                    {"free_ranges", holes.free_ranges},
                    {"hole_share", holes.share()}});
  return list;
}

Json to_json(const inspect::GrowthLine& line, inspect::Symbols& symbols) {
  return {{"mark", line.mark},
          {"kind", name_of(line.kind)},
          {"marks", line.series.marks},
          {"rises", line.series.rises},
          {"never_stops", line.series.keeps_growing()},
          {"first_count", line.series.first_count},
          {"first_bytes", line.series.first_bytes},
          {"last_count", line.series.last_count},
          {"last_bytes", line.series.last_bytes},
          {"site", to_json(line.series.site, symbols)}};
}

}  // namespace

std::string report_text(const inspect::Report& report, inspect::Symbols& symbols, const ReportView& view) {
  // What other tools recorded does not always say of which process.
  std::string text = report.info.pid != 0 ? fmt::format("Process {}: ", report.info.pid) : "";
  text +=
      fmt::format("{}\n{} events in {:.3f} ms, {} moved by copies and fills", visible(report.info.program),
                  report.events, static_cast<double>(report.end_ns) / 1e6, format_bytes(report.copied_bytes));
  if (report.failed_calls > 0)
    text += fmt::format(", {} call{} failed", report.failed_calls, report.failed_calls == 1 ? "" : "s");
  // What is missing may be anywhere, so no number below is sure.
  if (report.info.lost > 0)
    text +=
        fmt::format("\nnote: {} event{} lost", report.info.lost, report.info.lost == 1 ? " was" : "s were");
  if (report.info.cut_off) text += "\nnote: the file is cut off, and what came after is not known";
  if (report.info.damaged > 0)
    text += fmt::format("\nnote: {} chunk{} of the trace {} damaged", report.info.damaged,
                        report.info.damaged == 1 ? "" : "s", report.info.damaged == 1 ? "is" : "are");
  text += fmt::format("\n\nDevice memory: peak {} at {:.3f} ms, {} {}\n\n", format_bytes(report.peak_bytes),
                      static_cast<double>(report.peak_ns) / 1e6, format_bytes(report.live_bytes),
                      view.live ? "now" : "at the end");
  if (!report.timeline.empty()) text += graph(report, view.width);
  text += fmt::format("\n{:<20} {:>12} {:>12} {:>12} {:>12}\n", "kind", "made", "left", "left bytes", "peak");
  for (size_t kind = 0; kind < inspect::kKinds; ++kind) {
    const inspect::KindTotals& totals = report.kinds[kind];
    if (totals.births == 0) continue;
    text += fmt::format("{:<20} {:>12} {:>12} {:>12} {:>12}\n", name_of(static_cast<inspect::Kind>(kind)),
                        totals.births, totals.live, format_bytes(totals.live_bytes),
                        format_bytes(totals.peak_bytes));
  }
  const auto& holders = view.live ? report.at_end : report.at_peak;
  for (size_t number = 0; number < inspect::kGroups; ++number) {
    const auto group = static_cast<inspect::Group>(number);
    const auto some = owners_of(holders, group);
    if (some.empty() && group != inspect::Group::Device) continue;
    text += fmt::format("\n{}\n", title_of(group, view.live));
    for (size_t i = 0; i < some.size() && i < view.rows; ++i) {
      text += fmt::format("  {:>10} in {} {}\n", format_bytes(some[i].live_bytes), some[i].live_count,
                          title_of(some[i], some[i].live_count));
      add_stack(text, symbols, some[i].site, view.frames);
    }
    text += some.empty() ? "  nobody\n" : rest_of(some.size(), view.rows);
  }
  text += "\nWhat came most often\n";
  for (size_t i = 0; i < report.owners.size() && i < view.rows; ++i) {
    const inspect::Owner& owner = report.owners[i];
    text += fmt::format("  {:>10} {}, {} together, {} of them temporary\n", owner.births,
                        title_of(owner, owner.births), format_bytes(owner.born_bytes), owner.temporary);
    add_stack(text, symbols, owner.site, view.frames);
  }
  text += rest_of(report.owners.size(), view.rows);
  if (!report.holes_at_peak.empty()) text += "\nHoles at the peak\n";
  add_holes(text, report.holes_at_peak, view.rows);
  if (!report.holes_at_end.empty()) text += view.live ? "\nHoles now\n" : "\nHoles at the end\n";
  add_holes(text, report.holes_at_end, view.rows);
  std::map<std::string, std::vector<const inspect::Mark*>> marks;
  for (const inspect::Mark& mark : report.marks) marks[mark.text].push_back(&mark);
  if (!marks.empty()) text += "\nDevice memory from mark to mark\n";
  size_t shown = 0;
  for (const auto& [mark, list] : marks) {
    if (++shown > view.rows) break;
    const std::string name = visible(mark);
    text += list.size() == 1
                ? fmt::format("  '{}': once, with {}\n", name, format_bytes(list.front()->live_bytes))
                : fmt::format("  '{}': {} times, {} at the first, {} at the last\n", name, list.size(),
                              format_bytes(list.front()->live_bytes), format_bytes(list.back()->live_bytes));
  }
  text += rest_of(marks.size(), view.rows);
  if (!report.growth.empty()) text += "\nWhat grew from mark to mark\n";
  for (size_t i = 0; i < report.growth.size() && i < view.rows; ++i) {
    const inspect::GrowthLine& line = report.growth[i];
    text += fmt::format("  {}s: at {} of {} marks '{}', from {} ({}) to {} ({}){}\n", name_of(line.kind),
                        line.series.rises, line.series.marks, visible(line.mark), line.series.first_count,
                        format_bytes(line.series.first_bytes), line.series.last_count,
                        format_bytes(line.series.last_bytes),
                        line.series.keeps_growing() ? "; it never stops" : "");
    add_stack(text, symbols, line.series.site, view.frames);
  }
  text += rest_of(report.growth.size(), view.rows);
  return text;
}

Json report_json(const inspect::Report& report, inspect::Symbols& symbols, const ReportView& view) {
  Json json{{"pid", report.info.pid},
            {"program", report.info.program},
            {"events", report.events},
            {"failed_calls", report.failed_calls},
            {"duration_ns", report.end_ns},
            {"copied_bytes", report.copied_bytes},
            {"peak_bytes", report.peak_bytes},
            {"peak_ns", report.peak_ns},
            {"live_bytes", report.live_bytes},
            {"complete", report.info.ended},
            {"lost_events", report.info.lost},
            {"cut_off", report.info.cut_off},
            {"mstx_only", report.info.mstx_only}};
  Json& kinds = json["kinds"] = Json::object();
  for (size_t kind = 0; kind < inspect::kKinds; ++kind) {
    const inspect::KindTotals& totals = report.kinds[kind];
    if (totals.births == 0) continue;
    kinds[name_of(static_cast<inspect::Kind>(kind))] = {{"made", totals.births},
                                                        {"left", totals.live},
                                                        {"left_bytes", totals.live_bytes},
                                                        {"peak_bytes", totals.peak_bytes}};
  }
  const auto list = [&](const std::vector<inspect::Owner>& owners) {
    Json rows = Json::array();
    for (size_t i = 0; i < owners.size() && i < view.rows; ++i) rows.push_back(to_json(owners[i], symbols));
    return rows;
  };
  // So many rows of each group, so that none hides another.
  const auto grouped = [&](const std::vector<inspect::Owner>& owners) {
    Json rows = Json::array();
    for (size_t group = 0; group < inspect::kGroups; ++group)
      for (Json& row : list(owners_of(owners, static_cast<inspect::Group>(group))))
        rows.push_back(std::move(row));
    return rows;
  };
  if (!view.live) json["at_peak"] = grouped(report.at_peak);
  json["at_end"] = grouped(report.at_end);
  json["churn"] = list(report.owners);
  json["fragmentation_at_peak"] = to_json(report.holes_at_peak);
  json["fragmentation_at_end"] = to_json(report.holes_at_end);
  Json& timeline = json["timeline"] = Json::array();
  for (const auto& [time, bytes] : report.timeline) timeline.push_back(Json::array({time, bytes}));
  Json& marks = json["marks"] = Json::array();
  for (const inspect::Mark& mark : report.marks)
    marks.push_back({{"text", mark.text}, {"time_ns", mark.time_ns}, {"live_bytes", mark.live_bytes}});
  Json& growth = json["growth"] = Json::array();
  for (size_t i = 0; i < report.growth.size() && i < view.rows; ++i)
    growth.push_back(to_json(report.growth[i], symbols));
  return json;
}

}  // namespace plat::cli
