// SPDX-License-Identifier: Apache-2.0
// What the user asked for: the machine to play, where it lives, how strict and how talkative it is.
//
// Each setting comes from the environment (PLAT_DEVICES), else from the file that PLAT_CONFIG names (devices
// = 2), else from a default. A setting that cannot be understood is not guessed at: it becomes a complaint,
// and no device opens.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "device/fault_plan.h"
#include "device/product.h"
#include "device/super_pod.h"
#include "rules/rules.h"

namespace plat::device {

inline constexpr uint32_t kMaxDevices = 64;
inline constexpr uint64_t kLargestCapacity = 1_TiB;  // of one device, and of the host

enum class LogLevel : uint8_t { Off, Error, Warning, Info };

struct RuleChoice {
  RuleId rule;
  rules::Severity severity;
};

// What no document says of the cards; the user may.
struct DeviceNumbers {
  std::optional<uint64_t> ai_cpus;
  std::optional<uint64_t> ai_cores;
  std::optional<uint64_t> cube_cores;
  std::optional<uint64_t> vector_cores;
  std::optional<uint64_t> l2_bytes;
};

struct Config {
  const Product* product = &default_product();
  uint32_t device_count = 8;
  uint64_t capacity_bytes = 0;  // per device, a multiple of 2 MiB
  uint64_t host_capacity_bytes = 0;
  bool capacity_was_chosen = false;  // by the user, so another value of a live machine is a conflict
  bool product_was_chosen = false;
  std::string node = "default";  // which machine; "private" is one that no other process sees
  std::string directory;         // where its control files live
  bool directory_was_chosen = false;
  uint32_t server = kNoServer;  // which server of a super-pod the machine is
  bool server_was_chosen = false;
  uint32_t fabric_deadline_ms = 10000;  // for what another server is asked
  std::vector<uint32_t> visible;        // physical device numbers, by logical number
  std::string visible_problem;          // why none is visible, when the list of them is wrong
  DeviceNumbers numbers;
  bool host_access = false;
  bool commit_eagerly = false;
  uint64_t keep_back_bytes = uint64_t{64} << 20;
  uint64_t snapshot_wait_ms = 10000;
  uint64_t mapping_limit = uint64_t{1} << 24;
  uint64_t host_mapping_limit = UINT64_MAX;  // unless the system's own is lower
  bool quiet = false;
  LogLevel log_level = LogLevel::Warning;
  bool log_json = false;
  std::string log_file;
  std::vector<RuleChoice> rule_choices;
  std::optional<uint64_t> seed;
  std::vector<fault::Clause> faults;
  std::string crash;  // where to die, for tests
  std::vector<std::string> complaints;
  std::vector<std::string> remarks;  // on what is there and has no effect

  bool is_private() const { return node == "private"; }
};

// One setting, as documentation and `plat run --help` show it.
struct Setting {
  const char* key;      // in a file; the environment variable is PLAT_ and the key in capitals
  const char* form;     // what it takes
  const char* meaning;  // one line
};
std::span<const Setting> settings();
// A variable of ours that is no setting of the machine, so neither an option nor a line of a file.
struct Variable {
  const char* name;
  const char* form;
  const char* meaning;
};
std::span<const Variable> other_variables();
// The variable of ours that a misspelt one may mean; the name itself if it is one, "" if nothing is like it.
std::string nearest_variable(std::string_view name);

using Environment = std::function<std::optional<std::string>(const std::string& name)>;
// How much host memory there is when nobody says it, on a machine with so much.
uint64_t host_capacity_of(uint64_t machine_bytes);

// What the environment, else the file that PLAT_CONFIG names, says of one setting by its key; nothing if
// neither does. For the folders above that keep settings of their own.
std::optional<std::string> setting(const char* key);

Config read_config(const Environment& environment);
// From the process's own environment.
Config read_config();

// "key = value" lines; '#' begins a comment. Calls `each` per setting, `complain` for what cannot be read.
void parse_config_text(std::string_view text,
                       const std::function<void(std::string_view, std::string_view)>& each,
                       const std::function<void(std::string)>& complain);

}  // namespace plat::device
