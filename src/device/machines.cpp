// SPDX-License-Identifier: Apache-2.0
#include "device/machines.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <optional>

#include "base/text.h"
#include "device/ledger.h"
#include "device/node.h"
#include "device/observer.h"
#include "os/file.h"

namespace plat::device {

namespace {

struct ControlFile {
  std::string node;
  BankId bank;
};

// "<node>-dev<number>" or "<node>-host"; node names may hold dashes themselves.
std::optional<ControlFile> parse_name(const std::string& name) {
  const size_t dash = name.rfind('-');
  if (dash == std::string::npos || dash == 0) return std::nullopt;
  const std::string_view what = std::string_view(name).substr(dash + 1);
  if (what == "host") return ControlFile{name.substr(0, dash), kHostBank};
  if (what.substr(0, 3) != "dev") return std::nullopt;
  const auto number = parse_number(what.substr(3));
  if (!number || *number >= kMaxDevices) return std::nullopt;
  return ControlFile{name.substr(0, dash), BankId(static_cast<uint32_t>(*number))};
}

Removal remove_control(const std::string& path, bool only_look) {
  Removal removal{path, false, ""};
  const os::Fd fd = os::open_private_file(path, false);
  if (!fd) {
    removal.problem = errno == EPERM ? "it belongs to another user" : std::strerror(errno);
    return removal;
  }
  // Whoever joins holds the attach lock, and looks again at the file once it has it (Ledger::attach): a file
  // that is removed under the lock is never joined.
  const int error = os::try_lock_byte(fd.get(), kAttachLockByte);
  const auto identity = os::identify(fd.get());
  if (!identity || !identity->has_name) return removal;  // somebody else removed it meanwhile
  removal.in_use = error == EAGAIN || observe(path).state != ObserveState::Idle;
  if (removal.in_use || only_look) return removal;
  if (const int data_error = os::remove_file(path + ".data"); data_error != 0 && data_error != ENOENT)
    removal.problem = std::strerror(data_error);
  if (const int control_error = os::remove_file(path); control_error != 0)
    removal.problem = std::strerror(control_error);
  return removal;
}

std::optional<RunningDevice> a_live_device(const Config& config) {
  if (config.is_private()) return std::nullopt;
  for (uint32_t number = 0; number < config.device_count; ++number)
    if (auto running = find_running(Node::control_path(config.directory, config.node, BankId(number))))
      return running;
  return std::nullopt;
}

}  // namespace

void adopt_running_machine(Config& config) {
  const auto running = a_live_device(config);
  if (!running) return;
  const Product* product = find_product(running->product);
  if (!config.product_was_chosen && product != nullptr) config.product = product;
  if (!config.capacity_was_chosen) config.capacity_bytes = running->capacity_bytes;
  if (!config.server_was_chosen) config.server = running->server;
}

uint64_t home_namespace(const Config& config) {
  const auto running = a_live_device(config);
  return running ? running->home_namespace : 0;
}

std::vector<Machine> find_machines(const std::string& directory) {
  std::map<std::string, Machine> found;
  for (const std::string& name : os::list_directory(directory)) {
    const auto file = parse_name(name);
    if (!file) continue;
    Machine& machine = found[file->node];
    machine.node = file->node;
    machine.banks.push_back(file->bank);
  }
  std::vector<Machine> machines;
  for (auto& [name, machine] : found) {
    std::sort(machine.banks.begin(), machine.banks.end());
    machines.push_back(std::move(machine));
  }
  return machines;
}

std::vector<Removal> remove_machine(const std::string& directory, const Machine& machine, bool only_look) {
  std::vector<Removal> removals;
  for (const BankId bank : machine.banks)
    removals.push_back(remove_control(Node::control_path(directory, machine.node, bank), only_look));
  return removals;
}

}  // namespace plat::device
