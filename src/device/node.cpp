// SPDX-License-Identifier: Apache-2.0
#include "device/node.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/text.h"
#include "device/crash.h"
#include "device/fault.h"
#include "device/machines.h"
#include "device/report.h"
#include "os/child.h"
#include "os/file.h"
#include "os/process.h"

namespace plat::device {

namespace {
constexpr std::array kParents = {"/dev/shm", "/tmp", "/var/tmp"};
}

Node::Node(Config config) : config_(std::move(config)) {
  if (config_.directory.empty()) {
    config_.directory = default_directory();
    // Programs that see another owner there, in a container for example, would be on another machine.
    const std::string first = default_directory(std::span(kParents).first(1));
    if (config_.directory != first && os::file_exists(first))
      config_.remarks.push_back(fmt::format(
          "{} belongs to another user, or others can write to it; the files of this machine are in {}", first,
          config_.directory));
  }
  adopt_running_machine(config_);
  report::configure(config_);
  for (const std::string& remark : config_.remarks) report::warning(remark);
  arm_crash(config_.crash);
  fault::arm(config_.faults, config_.seed);
}

Node::~Node() {
  for (auto& bank : banks_) delete bank.load(std::memory_order_acquire);
}

// Not $XDG_RUNTIME_DIR: two processes of one user may disagree about it, and would silently get two machines.
// Anybody can make a directory of our name first; all processes of the user then pass it over alike.
std::string Node::default_directory() { return default_directory(kParents); }

std::string Node::default_directory(std::span<const char* const> parents) {
  const auto in = [](const char* parent) { return fmt::format("{}/plat-{}", parent, os::user_id()); };
  for (const char* parent : parents)
    if (os::can_be_private_directory(in(parent))) return in(parent);
  return in(parents[0]);
}

std::string Node::control_path(BankId bank) const {
  return config_.is_private() ? "" : control_path(config_.directory, config_.node, bank);
}

std::string Node::control_path(const std::string& directory, const std::string& node, BankId bank) {
  const std::string what = bank == kHostBank ? "host" : fmt::format("dev{}", bank.value);
  return fmt::format("{}/{}-{}", directory, node, what);
}

LedgerOptions Node::options_for(BankId bank) const {
  LedgerOptions options;
  options.control_path = control_path(bank);
  if (config_.directory_was_chosen && !config_.is_private())
    options.data_path = options.control_path + ".data";
  options.capacity_bytes = bank == kHostBank ? config_.host_capacity_bytes : config_.capacity_bytes;
  options.product = config_.product->key;
  options.capacity_is_firm = config_.capacity_was_chosen && bank != kHostBank;
  options.device_number = bank.value;
  options.server = config_.server;
  return options;
}

Result<> Node::check_settings() const {
  if (config_.complaints.empty()) return {};
  return fail(RuleId::DeviceSettings, "settings", "{}", fmt::join(config_.complaints, "; "));
}

Result<> Node::check_visible() const {
  if (config_.visible_problem.empty()) return {};
  return fail(RuleId::VisibleDevices, "ASCEND_RT_VISIBLE_DEVICES", "{}", config_.visible_problem);
}

Result<uint32_t> Node::physical_id(int64_t logical_id, std::string_view parameter) const {
  if (logical_id >= 0 && logical_id < visible_count())
    return config_.visible[static_cast<size_t>(logical_id)];
  if (!config_.visible_problem.empty())
    return fail(RuleId::DeviceId, parameter,
                "device id is {}, and no device is visible: "
                "ASCEND_RT_VISIBLE_DEVICES counts for nothing because {}",
                logical_id, config_.visible_problem);
  return fail(RuleId::DeviceId, parameter, "device id is {}, {} device(s) are visible", logical_id,
              visible_count());
}

int32_t Node::logical_id(uint32_t physical_id) const {
  const auto found = std::find(config_.visible.begin(), config_.visible.end(), physical_id);
  return found == config_.visible.end() ? -1 : static_cast<int32_t>(found - config_.visible.begin());
}

Result<Bank*> Node::bank(BankId id) {
  if (Bank* bank = open_bank(id)) [[likely]]
    return bank;
  const std::lock_guard lock(mutex_);
  if (Bank* bank = open_bank(id)) return bank;
  PLAT_TRY(check_settings());
  PLAT_TRY(prepare_directory());
  LedgerOptions options = options_for(id);
  options.home_namespace = machine_namespace();
  PLAT_ASSIGN(bank, Bank::open(options, config_));
  announce();
  Bank* opened = bank.release();
  banks_[id.value].store(opened, std::memory_order_release);
  return opened;
}

// All devices of a machine call a process by the same number, whoever was the first on each of them.
uint64_t Node::machine_namespace() const {
  for (const auto& bank : banks_)
    if (Bank* open = bank.load(std::memory_order_acquire)) return open->ledger().home_namespace();
  return home_namespace(config_);
}

Result<> Node::prepare_directory() {
  if (config_.is_private()) return {};
  const int error = os::make_private_directory(config_.directory);
  if (error == 0) return {};
  return fail(
      RuleId::DeviceOpen, "deviceId", "directory {}: {}", config_.directory,
      error == EPERM ? "it belongs to another user, or others can write to it" : std::strerror(error));
}

void Node::announce() {
  if (announced_ || config_.quiet) return;
  announced_ = true;
  report::notice(fmt::format(
      "software device, no NPU: {} x {} ({}) on machine '{}'; PLAT_QUIET=1 silences this line",
      config_.device_count, config_.product->soc_name, format_bytes(config_.capacity_bytes), config_.node));
}

void Node::abandon_in_child() {
  for (auto& bank : banks_)
    if (Bank* open = bank.load(std::memory_order_acquire)) open->abandon_in_child();
  Ledger::abandon_newest_in_child();
}

}  // namespace plat::device
