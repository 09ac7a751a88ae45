// SPDX-License-Identifier: Apache-2.0
// The machine that this process is on: its settings, its visible devices, and their banks, opened on first
// use.
#pragma once

#include <array>
#include <atomic>
#include <mutex>
#include <span>
#include <string>
#include <string_view>

#include "device/bank.h"
#include "device/config.h"
#include "device/ids.h"
#include "os/process.h"

namespace plat::device {

// The bank that plays host memory; those of devices are 0..63.
inline constexpr BankId kHostBank{kMaxDevices};
constexpr bool is_of_device(BankId bank) { return bank.value < kMaxDevices; }

class Node {
 public:
  explicit Node(Config config);
  ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  const Config& config() const { return config_; }
  const Product& product() const { return *config_.product; }

  // Logical ids are those that clients use; physical ones number the devices of the machine.
  uint32_t visible_count() const { return static_cast<uint32_t>(config_.visible.size()); }
  // The list of visible devices, if it is wrong.
  Result<> check_visible() const;
  Result<uint32_t> physical_id(int64_t logical_id, std::string_view parameter) const;
  // The logical id of a physical device; -1 if it is hidden.
  int32_t logical_id(uint32_t physical_id) const;

  // Opens the bank if need be.
  Result<Bank*> bank(BankId id);
  // Only if it is open; nullptr otherwise.
  Bank* open_bank(BankId id) const { return banks_[id.value].load(std::memory_order_acquire); }

  // Which devices this process has opened (aclrtSetDevice), by physical number.
  bool is_open(uint32_t number) const {
    return (open_devices_.load(std::memory_order_acquire) >> number & 1) != 0;
  }
  // Whether it ever had one.
  bool was_ever_open() const { return ever_open_.load(std::memory_order_acquire); }
  void set_open(uint32_t number, bool open) {
    const uint64_t bit = uint64_t{1} << number;
    if (open) ever_open_.store(true, std::memory_order_release);
    open ? open_devices_.fetch_or(bit, std::memory_order_acq_rel)
         : open_devices_.fetch_and(~bit, std::memory_order_acq_rel);
  }

  // Whether this process lets one device reach another, by physical numbers.
  bool is_peer(uint32_t device, uint32_t peer) const {
    return (peers_[device].load(std::memory_order_relaxed) >> peer & 1) != 0;
  }
  void set_peer(uint32_t device, uint32_t peer, bool enabled) {
    const uint64_t bit = uint64_t{1} << peer;
    enabled ? peers_[device].fetch_or(bit) : peers_[device].fetch_and(~bit);
  }
  void forget_peers(uint32_t device) { peers_[device] = 0; }

  // What whitelists call this process.
  int32_t bare_pid() const { return Ledger::bare_pid(os::this_process(), machine_namespace()); }

  // The settings in the way of any work, if any.
  Result<> check_settings() const;

  static std::string default_directory();
  // The first of these in which this user has a directory, or can make one.
  static std::string default_directory(std::span<const char* const> parents);
  std::string control_path(BankId bank) const;
  static std::string control_path(const std::string& directory, const std::string& node, BankId bank);

  void abandon_in_child();

 private:
  LedgerOptions options_for(BankId bank) const;
  Result<> prepare_directory();
  uint64_t machine_namespace() const;
  void announce();

  Config config_;
  std::mutex mutex_;  // guards opening
  // Closed with the machine: addresses of their memory are everywhere.
  std::array<std::atomic<Bank*>, kMaxDevices + 1> banks_{};
  std::atomic<uint64_t> open_devices_{0};
  std::atomic<bool> ever_open_{false};
  std::array<std::atomic<uint64_t>, kMaxDevices> peers_{};  // of each device, a bit for each other
  bool announced_ = false;
};

}  // namespace plat::device
