// SPDX-License-Identifier: Apache-2.0
#include "cli/info_view.h"

#include <set>

#include "device/machines.h"
#include "device/node.h"

namespace plat::cli {

namespace {

using device::ObserveState;

constexpr int kDaemonPatienceMs = 200;  // for a daemon that may be stopped

DeviceLine view_bank(const device::Config& config, device::BankId bank) {
  DeviceLine line;
  line.number = bank.value;
  line.is_host = bank == device::kHostBank;
  if (!config.is_private())
    line.seen = device::observe(device::Node::control_path(config.directory, config.node, bank));
  device::DeviceView& view = line.seen.view;
  if (line.seen.state == ObserveState::Idle) {
    view.product = config.product->key;
    view.capacity_bytes = config.capacity_bytes;
    view.free_bytes = config.capacity_bytes;
  }
  const device::Product* product = device::find_product(view.product);
  line.soc_name = line.is_host ? "" : product != nullptr ? product->soc_name : view.product;
  return line;
}

}  // namespace

nlohmann::ordered_json device_name(const DeviceLine& line) {
  if (line.is_host) return "host";
  return line.number;
}

MachineView view_machine(device::Config config) {
  MachineView machine;
  machine.config = std::move(config);
  device::adopt_running_machine(machine.config);
  // A machine whose first process chose more devices than this process would.
  std::set<device::BankId> banks;
  for (uint32_t number = 0; number < machine.config.device_count; ++number)
    banks.insert(device::BankId(number));
  for (const device::Machine& found : device::find_machines(machine.config.directory)) {
    if (found.node == machine.config.node) {
      banks.insert(found.banks.begin(), found.banks.end());
    } else {
      machine.others.push_back(found.node);
    }
  }
  for (const device::BankId bank : banks) {
    DeviceLine line = view_bank(machine.config, bank);
    const bool is_extra = bank.value >= machine.config.device_count;
    if (!is_extra || line.seen.state != ObserveState::Idle) machine.lines.push_back(std::move(line));
  }
  if (!machine.config.is_private())
    machine.fabric = ask_fabric(machine.config.directory, machine.config.node, kDaemonPatienceMs);
  return machine;
}

}  // namespace plat::cli
