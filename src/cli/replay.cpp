#include "cli/replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "base/text.h"
#include "cli/replay_run.h"

namespace {

using plat::format_bytes;
using plat::replay::Outcome;

constexpr double kRemapMicroseconds = 10;  // what moving a page is taken to cost

constexpr const char* kUsage =
    "usage: plat replay [--policy pool|best-fit|buddy|page-run] [--device SIZE] [--slack X] [--step X] "
    "[--compare] [--json] trace...\n"
    "  A trace is op,id,size,stream,time lines, an RMM log or a PyTorch memory snapshot, plain or gzipped.\n"
    "  --device SIZE  physical memory of the device; without it, unlimited, and the smallest that suffices "
    "is searched\n"
    "  --slack X      the pool moves pages rather than hold more than (1 + X) times the peak in use; "
    "default: grow first\n"
    "  --step X       precision of the search, as a part of the peak; default 0.0005\n"
    "  --compare      every policy, in a table\n";

struct Options {
  std::vector<std::string> policies{"pool"};
  std::vector<std::string> traces;
  uint64_t device_bytes = 0;
  double slack = -1;
  double step = 0.0005;
  bool json = false;
};

bool parse(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const bool last = i + 1 == argc;
    if (argument == "--json") {
      options.json = true;
    } else if (argument == "--compare") {
      options.policies.assign(std::begin(plat::replay::kPolicies), std::end(plat::replay::kPolicies));
    } else if (argument == "--policy" && !last) {
      options.policies = {argv[++i]};
      if (std::none_of(std::begin(plat::replay::kPolicies), std::end(plat::replay::kPolicies),
                       [&](const char* known) { return options.policies[0] == known; }))
        return false;
    } else if (argument == "--device" && !last) {
      const auto bytes = plat::parse_bytes(argv[++i]);
      if (!bytes || *bytes == 0) return false;
      options.device_bytes = *bytes;
    } else if ((argument == "--slack" || argument == "--step") && !last) {
      char* end = nullptr;
      const double value = std::strtod(argv[++i], &end);
      if (*end != '\0') return false;
      (argument == "--slack" ? options.slack : options.step) = value;
    } else if (argument.starts_with("--")) {
      return false;
    } else {
      options.traces.push_back(argument);
    }
  }
  return !options.traces.empty();
}

struct Row {
  std::string trace;
  std::string policy;
  size_t events;
  uint64_t peak_live;
  uint64_t smallest;
  Outcome outcome;
};

void print_json(const std::vector<Row>& rows) {
  fmt::print("[");
  for (size_t i = 0; i < rows.size(); ++i) {
    const Row& row = rows[i];
    const auto& counters = row.outcome.counters;
    fmt::print(
        "{}\n  {{\"trace\": {}, \"policy\": {}, \"events\": {}, \"completed\": {}, \"first_failing_event\": "
        "{}, "
        "\"ns_per_event\": {:.1f}, \"steady_ns_per_event\": {:.1f}, \"peak_live_bytes\": {}, "
        "\"peak_reserved_bytes\": {}, "
        "\"smallest_device_bytes\": {}, \"maps\": {}, \"remaps\": {}, \"late_remaps\": {}, "
        "\"remap_cost_us\": {:.0f}}}",
        i != 0 ? "," : "", plat::json_string(row.trace), plat::json_string(row.policy), row.events,
        row.outcome.completed, row.outcome.completed ? "null" : std::to_string(row.outcome.failed_at),
        row.outcome.nanoseconds, row.outcome.steady_nanoseconds, row.peak_live, counters.reserved_peak,
        row.smallest, counters.maps, counters.remaps, row.outcome.late_remaps,
        static_cast<double>(counters.remaps) * kRemapMicroseconds);
  }
  fmt::print("\n]\n");
}

void print_text(const std::vector<Row>& rows) {
  fmt::print("{:<34} {:<9} {:>8} {:>7} {:>10} {:>9} {:>8} {:>8} {:>9}  {}\n", "trace", "policy", "events",
             "ns/op", "peak live", "reserved", "min cap", "maps", "remaps", "result");
  for (const Row& row : rows) {
    const auto& counters = row.outcome.counters;
    const auto peak = static_cast<double>(row.peak_live);
    const std::string name = row.trace.substr(row.trace.rfind('/') + 1);
    fmt::print("{:<34.34} {:<9} {:>8} {:>7.1f} {:>10} {:>9.4f} {:>8} {:>8} {:>9}  {}\n", name, row.policy,
               row.events, row.outcome.steady_nanoseconds, format_bytes(row.peak_live),
               static_cast<double>(counters.reserved_peak) / peak,
               row.smallest != 0 ? fmt::format("{:.4f}", static_cast<double>(row.smallest) / peak) : "-",
               counters.maps, fmt::format("{}/{}", counters.remaps, row.outcome.late_remaps),
               row.outcome.completed ? "completed"
                                     : fmt::format("out of memory at event {}", row.outcome.failed_at));
  }
  fmt::print(
      "ns/op: second half. reserved, min cap: over peak live. remaps: pages moved in all / in the second "
      "half, {} us each on a device.\n",
      kRemapMicroseconds);
}

}  // namespace

int replay_main(int argc, char** argv) {
  Options options;
  if (!parse(argc, argv, options)) {
    std::fputs(kUsage, stderr);
    return 2;
  }
  std::vector<Row> rows;
  bool all_completed = true;
  for (const std::string& path : options.traces) {
    plat::replay::Trace trace;
    std::string why;
    if (!plat::replay::read_trace(path, trace, why)) {
      fmt::print(stderr, "plat replay: {}\n", why);
      return 2;
    }
    for (const std::string& policy : options.policies) {
      Row row{path, policy, trace.events.size(), trace.peak_live_bytes, 0, {}};
      row.outcome = run_once(
          trace, policy, options.device_bytes != 0 ? options.device_bytes : uint64_t{1} << 46, options.slack);
      if (options.device_bytes == 0)
        row.smallest = smallest_device(trace, policy, options.slack, options.step);
      all_completed = all_completed && row.outcome.completed;
      rows.push_back(row);
    }
  }
  options.json ? print_json(rows) : print_text(rows);
  return all_completed ? 0 : 1;
}
