// SPDX-License-Identifier: Apache-2.0
// plat replay: runs a trace of allocations against the pool, or against a plain reference policy, on a device
// of a given size.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/cli.h"
#include "cli/progress.h"
#include "cli/terminal.h"
#include "replay/run.h"

namespace plat::cli {

const char* const kReplayExamples = R"(
A trace is one of these, plain or gzipped; the content tells which:
  op,id,size,stream,time lines   a = allocate, f = free, u = another stream uses it; stream 0 is none;
                                 plat_pool_with_trace() writes them
  a recording                    by plat record: mstx regions where there are any, else device memory
  an RMM log                     Thread,Time,Action,Pointer,Size,Stream
  a PyTorch memory snapshot      the pickle of torch.npu.memory._dump_snapshot(), or the same as JSON
  a memscope database            memscope_dump_TIME.db: blocks of pools, and device memory outside of them
What lived before the recording began, or lives in a snapshot without a history, is there from the start.

Examples:
  plat replay train.csv.gz                      time, waste, and the smallest device that would do
  plat replay --device 32GiB snapshot.pickle    does it fit, and if not, which event fails first?
  plat replay --device 32GiB --compare memscope_dump_1.db
                                                with which policy does it fit, and what is left?
  plat record -- ./train && plat replay plat.trace
  plat replay --compare train.csv.gz            the pool beside plain policies
  plat replay --slack 0.05 --json train.csv.gz  move pages rather than hold 5 % more than is in use

In the table: ns/op is for the second half of the trace; reserved and min cap are over the peak of live
bytes; left is what the policy never took of the device (--device); remaps are pages moved in all / in the
second half, with what they cost at 10 us each.
The pool is asked for each block on its stream; streams complete in order, and at once.)";

namespace {

constexpr double kRemapMicroseconds = 10;  // what moving a page is taken to cost on a device
constexpr uint64_t kUnlimitedBytes = uint64_t{1} << 46;

struct ReplayOptions {
  std::vector<std::string> traces;
  std::string policy = "pool";
  std::string device;
  std::string max_unpacked = "1GiB";
  double slack = -1;
  uint64_t max_remaps = 0;
  double step = 0.0005;
  bool compare = false;
  bool json = false;
};

struct Row {
  std::string trace;
  std::string policy;
  size_t events;
  uint32_t streams;
  uint64_t peak_live;
  uint64_t smallest;  // 0: not searched, or not found
  uint64_t device;    // 0: without a limit
  replay::Outcome outcome;

  // Of the device, that the policy never took.
  uint64_t left() const { return device - std::min(device, outcome.counters.reserved_peak); }
  double remap_cost_us() const { return static_cast<double>(outcome.counters.remaps) * kRemapMicroseconds; }
};

void print_json(const std::vector<Row>& rows) {
  auto out = nlohmann::ordered_json::array();
  for (const Row& row : rows) {
    const replay::Outcome& outcome = row.outcome;
    nlohmann::ordered_json line{{"trace", row.trace},
                                {"policy", row.policy},
                                {"events", row.events},
                                {"streams", row.streams},
                                {"completed", outcome.completed},
                                {"first_failing_event", nullptr},
                                {"ns_per_event", outcome.nanoseconds},
                                {"steady_ns_per_event", outcome.steady_nanoseconds},
                                {"peak_live_bytes", row.peak_live},
                                {"peak_reserved_bytes", outcome.counters.reserved_peak},
                                {"smallest_device_bytes", nullptr},
                                {"device_bytes", nullptr},
                                {"left_bytes", nullptr},
                                {"maps", outcome.counters.maps},
                                {"remaps", outcome.counters.remaps},
                                {"late_remaps", outcome.late_remaps},
                                {"most_remaps_for_one_event", outcome.counters.most_remaps},
                                {"remap_cost_us", row.remap_cost_us()}};
    if (!outcome.completed) line["first_failing_event"] = outcome.failed_at;
    if (row.smallest != 0) line["smallest_device_bytes"] = row.smallest;
    if (row.device != 0) line["device_bytes"] = row.device;
    if (row.device != 0 && outcome.completed) line["left_bytes"] = row.left();
    out.push_back(std::move(line));
  }
  show(stdout, visible_json(out.dump(2, ' ', false, nlohmann::json::error_handler_t::replace)) + "\n");
}

std::string result_of(const Row& row) {
  if (!row.outcome.completed && row.outcome.failed_line != 0)
    return fmt::format("out of memory at event {} (line {})", row.outcome.failed_at, row.outcome.failed_line);
  if (!row.outcome.completed) return fmt::format("out of memory at event {}", row.outcome.failed_at);
  if (row.outcome.counters.remaps == 0) return "completed";
  return fmt::format("completed; moving pages costs {:.1f} ms, at most {} for one block",
                     row.remap_cost_us() / 1000, row.outcome.counters.most_remaps);
}

void print_text(const std::vector<Row>& rows) {
  fmt::print("{:<34} {:<9} {:>8} {:>7} {:>10} {:>9} {:>8} {:>8} {:>11}  {}\n", "trace", "policy", "events",
             "ns/op", "peak live", "reserved", rows.front().device != 0 ? "left" : "min cap", "maps",
             "remaps", "result");
  for (const Row& row : rows) {
    const replay::Counters& counters = row.outcome.counters;
    const auto peak = static_cast<double>(row.peak_live);
    const std::string name = visible(row.trace.substr(row.trace.rfind('/') + 1));
    std::string room = "-";
    if (row.smallest != 0) room = fmt::format("{:.4f}", static_cast<double>(row.smallest) / peak);
    if (row.device != 0 && row.outcome.completed) room = format_bytes(row.left());
    // One that failed did not come to the half that is measured.
    const std::string pace =
        row.outcome.completed ? fmt::format("{:.1f}", row.outcome.steady_nanoseconds) : "-";
    fmt::print("{:<34.34} {:<9} {:>8} {:>7} {:>10} {:>9.4f} {:>8} {:>8} {:>11}  {}\n", name, row.policy,
               row.events, pace, format_bytes(row.peak_live),
               static_cast<double>(counters.reserved_peak) / peak, room, counters.maps,
               fmt::format("{}/{}", counters.remaps, row.outcome.late_remaps), result_of(row));
  }
}

int run(const ReplayOptions& options) {
  uint64_t device_bytes = 0;
  if (!options.device.empty()) {
    const auto bytes = parse_bytes(options.device);
    if (!bytes || *bytes == 0) {
      fmt::print(stderr, "plat: --device: '{}' is no size; write 32GiB or 1536MiB\n", options.device);
      return kAskedWrongly;
    }
    device_bytes = *bytes;
  }
  const auto unpacked_max = parse_bytes(options.max_unpacked);
  if (!unpacked_max) {
    fmt::print(stderr, "plat: --max-unpacked: '{}' is no size; write 4GiB or 512MiB\n", options.max_unpacked);
    return kAskedWrongly;
  }
  std::vector<std::string> policies{options.policy};
  if (options.compare) policies.assign(std::begin(replay::kPolicies), std::end(replay::kPolicies));
  std::vector<Row> rows;
  bool all_completed = true;
  for (const std::string& path : options.traces) {
    replay::Trace trace;
    std::string why;
    Progress progress("replaying " + path);
    progress.at(0);
    if (!replay::read_trace(path, trace, why, *unpacked_max)) {
      progress.done();
      show(stderr, fmt::format("plat: {}\n", why));
      return kAskedWrongly;
    }
    for (const std::string& policy : policies) {
      Row row{path, policy, trace.events.size(), trace.streams, trace.peak_live_bytes, 0, device_bytes, {}};
      // The search runs it some twelve times; each policy is a part of the whole.
      const auto part_of = [&, begun = rows.size()](double from, double size) {
        const auto parts = static_cast<double>(policies.size() * options.traces.size());
        return [&progress, parts, begun, from, size](double part) {
          progress.at((static_cast<double>(begun) + from + part * size) / parts);
        };
      };
      row.outcome = run_once(trace, policy, device_bytes != 0 ? device_bytes : kUnlimitedBytes, options.slack,
                             options.max_remaps, part_of(0, device_bytes == 0 ? 0.1 : 1));
      if (device_bytes == 0)
        row.smallest = smallest_device(trace, policy, options.slack, options.step, options.max_remaps,
                                       part_of(0.1, 0.9));
      all_completed = all_completed && row.outcome.completed;
      rows.push_back(std::move(row));
    }
  }
  options.json ? print_json(rows) : print_text(rows);
  return all_completed ? kDone : kBadNews;
}

}  // namespace

Action add_replay(Parser& app, const Program&) {
  auto options = std::make_shared<ReplayOptions>();
  app.add_option("trace", options->traces, "The traces to run").required().type_name("FILE");
  app.add_option("--policy", options->policy, "Whose placement: pool, best-fit, buddy or page-run")
      .one_of(std::vector<std::string>(std::begin(replay::kPolicies), std::end(replay::kPolicies)))
      .type_name("NAME");
  app.add_option("--device", options->device,
                 "Physical memory of the device [no limit, and the smallest that would do is searched]")
      .type_name("SIZE");
  app.add_option("--slack", options->slack,
                 "Let the pool move pages rather than hold more than 1 + X times its peak use [it grows]")
      .not_negative()
      .type_name("X");
  app.add_option("--max-remaps", options->max_remaps,
                 "Let the pool move at most N pages for one request, which else fails [any number]")
      .more_than_zero()
      .type_name("N");
  app.add_option("--max-unpacked", options->max_unpacked,
                 "The most that a gzipped trace may be when it is unpacked [1GiB]")
      .type_name("SIZE");
  app.add_option("--step", options->step, "Precision of the search, as a part of the peak [0.0005]")
      .range(1e-6, 1.0)
      .type_name("X");
  app.add_flag("--compare", options->compare, "Every policy, in one table");
  app.add_flag("--json", options->json, "For tools");
  return [options] { return run(*options); };
}

}  // namespace plat::cli
