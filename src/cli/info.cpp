// SPDX-License-Identifier: Apache-2.0
// plat info: the devices of a machine and who holds what, seen from outside.
#include "cli/info_view.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/cli.h"
#include "cli/managed_view.h"
#include "cli/settings.h"
#include "cli/terminal.h"
#include "device/node.h"

namespace plat::cli {

const char* const kInfoExamples = R"(
Looking changes nothing: it joins no machine, creates no file, and waits at most 0.2 s for a device
that a process is changing just now. A device that no process uses is idle, and is shown with the memory
that it would have.

Examples:
  plat info                    the machine that programs started here would join
  plat info --node ci-7        another one (see PLAT_NODE)
  plat info --json             for tools
  plat info --verify           also check the books; exit code 1 if they are wrong or cannot be read)";

namespace {

struct InfoOptions {
  std::string node;
  bool json = false;
  bool verify = false;
};

using device::DeviceView;
using device::ObserveState;

void add_device(std::string& text, const DeviceLine& line, const FabricStatus& fabric, bool verify) {
  const DeviceView& view = line.seen.view;
  const std::string name = line.is_host ? "host" : fmt::format("{}", line.number);
  if (line.seen.state == ObserveState::Unknown) {
    text += fmt::format("{:<8} {:<18} {}\n", name, "", visible(line.seen.problem));
    return;
  }
  const bool live = line.seen.state == ObserveState::Live;
  text +=
      fmt::format("{:<8} {:<18} {:>12} {:>12}  {}\n", name, line.soc_name, format_bytes(view.capacity_bytes),
                  format_bytes(view.free_bytes), live ? fmt::format("{}", view.holders.size()) : "idle");
  for (const device::Holder& holder : view.holders) {
    text += fmt::format("         pid {} ({}): {} in {} block{}", holder.pid, visible(holder.name),
                        format_bytes(holder.bytes), holder.blocks, holder.blocks == 1 ? "" : "s");
    if (holder.shared_bytes > 0) text += fmt::format(", {} of it shared", format_bytes(holder.shared_bytes));
    text += fmt::format("\n");
    if (line.is_host) text += managed_text(holder.pid);
  }
  text += remote_holders_text(fabric, device_name(line), "             ");
  if (view.dead_bytes > 0)
    text += fmt::format("         {} of ended processes, given back when the next process calls in\n",
                        format_bytes(view.dead_bytes));
  if (live && !view.is_of_one_moment && view.changing_pid != 0)
    text += fmt::format("         pid {} is inside a change (is it stopped?); the figures may not add up\n",
                        view.changing_pid);
  else if (live && !view.is_of_one_moment)
    text += "         changes went on while this was read; the figures may not add up\n";
  if (!verify || !live) return;
  if (!view.difference.empty()) {
    text += fmt::format("         the books are wrong: {}\n", view.difference);
  } else if (view.died_inside_change) {
    text += "         a process died inside a change; the next one that calls in rebuilds the books\n";
  } else if (view.is_of_one_moment) {
    text += "         the books are right\n";
  }
}

void print_text(const MachineView& machine, bool verify) {
  std::string text;
  text += fmt::format("Software device, no NPU. Machine '{}': {} devices, {}.\n", machine.config.node,
                      machine.config.device_count, machine.config.product->name);
  if (machine.config.visible.size() != machine.config.device_count)
    text += fmt::format("ASCEND_RT_VISIBLE_DEVICES shows {} of them to programs: {}.\n",
                        machine.config.visible.size(), fmt::join(machine.config.visible, ", "));
  text += fmt::format("\n{:<8} {:<18} {:>12} {:>12}  {}\n", "device", "SoC", "capacity", "free", "processes");
  for (const DeviceLine& line : machine.lines) add_device(text, line, machine.fabric, verify);
  text += fabric_section(machine.fabric, {});
  if (machine.config.is_private())
    text += fmt::format(
        "\nA private machine is seen by its own process only; this is what one would start with.\n");
  if (!machine.others.empty())
    text += fmt::format("\nOther machines in {}: {} (plat info --node NAME).\n", machine.config.directory,
                        fmt::join(machine.others, ", "));
  show(stdout, text);
}

nlohmann::ordered_json to_json(const DeviceLine& line) {
  const DeviceView& view = line.seen.view;
  nlohmann::ordered_json out;
  if (!line.is_host) out["device"] = line.number;
  out["state"] = line.seen.state == ObserveState::Live   ? "live"
                 : line.seen.state == ObserveState::Idle ? "idle"
                                                         : "unknown";
  if (line.seen.state == ObserveState::Unknown) {
    out["problem"] = line.seen.problem;
    return out;
  }
  if (!line.is_host) {
    out["product"] = view.product;
    out["soc_name"] = line.soc_name;
  }
  out["capacity_bytes"] = view.capacity_bytes;
  out["free_bytes"] = view.free_bytes;
  out["dead_bytes"] = view.dead_bytes;
  out["holders"] = nlohmann::ordered_json::array();
  for (const device::Holder& holder : view.holders) {
    out["holders"].push_back({{"pid", holder.pid},
                              {"name", holder.name},
                              {"bytes", holder.bytes},
                              {"shared_bytes", holder.shared_bytes},
                              {"blocks", holder.blocks}});
    if (auto managed = line.is_host ? managed_json(holder.pid) : nullptr; !managed.empty())
      out["holders"].back()["managed"] = std::move(managed);
  }
  if (!view.difference.empty()) out["difference"] = view.difference;
  return out;
}

void print_json(const MachineView& machine) {
  nlohmann::ordered_json out{{"software_device", true},
                             {"version", PLAT_VERSION},
                             {"node", machine.config.node},
                             {"directory", machine.config.directory},
                             {"visible_devices", machine.config.visible},
                             {"devices", nlohmann::ordered_json::array()}};
  for (const DeviceLine& line : machine.lines) {
    if (line.is_host) {
      out["host"] = to_json(line);
    } else {
      out["devices"].push_back(to_json(line));
    }
  }
  if (!machine.fabric.is_null()) out["fabric"] = machine.fabric;
  out["other_machines"] = machine.others;
  // A process may give itself any name; what is not UTF-8 must not stop the rest.
  show(stdout, visible_json(out.dump(2, ' ', false, nlohmann::json::error_handler_t::replace)) + "\n");
}

int run_info(const InfoOptions& options) {
  device::Config config =
      settings_with(options.node.empty() ? std::map<std::string, std::string>{}
                                         : std::map<std::string, std::string>{{"PLAT_NODE", options.node}});
  if (!settings_make_sense(config)) return kAskedWrongly;
  const MachineView machine = view_machine(std::move(config));
  options.json ? print_json(machine) : print_text(machine, options.verify);
  if (options.verify)
    for (const DeviceLine& line : machine.lines)
      if (line.seen.state == ObserveState::Unknown || !line.seen.view.difference.empty()) return kBadNews;
  return kDone;
}

}  // namespace

Action add_info(Parser& app, const Program&) {
  auto options = std::make_shared<InfoOptions>();
  app.add_option("--node", options->node, "Which machine to look at").type_name("NAME");
  app.add_flag("--json", options->json, "As JSON, sizes in bytes");
  app.add_flag("--verify", options->verify,
               "Compare what is derived in the books with what they are derived from; 1 if they differ or "
               "cannot be read");
  return [options] { return run_info(*options); };
}

}  // namespace plat::cli
