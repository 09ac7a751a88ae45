// SPDX-License-Identifier: Apache-2.0
#include "device/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>

#include "base/text.h"
#include "base/units.h"
#include "device/visible.h"
#include "os/environment.h"
#include "os/file.h"
#include "os/memory.h"
#include "os/process.h"

namespace plat::device {

namespace {

constexpr std::array kSettings = {
    Setting{"product", "a2|a3|950|training|inference|200i-a2|200i-a2-rc|200",
            "the product that the devices play"},
    Setting{"devices", "1..64", "how many devices the machine has (8)"},
    Setting{"capacity", "SIZE", "memory of each device, in whole 2 MiB (the product's own)"},
    Setting{"host_capacity", "SIZE", "host memory that ACL can allocate (the machine's)"},
    Setting{"node", "NAME", "which machine to join; 'private' is one that no other process sees (default)"},
    Setting{"server", "0..1022|none",
            "which server of a super-pod the machine is; fabric handles need one (0 on a3, else none)"},
    Setting{"fabric", "FILE",
            "which server is where, lines of 'SERVER HOST:PORT'; lets programs start the fabric daemon"},
    Setting{"fabric_keys", "DIRECTORY",
            "for the fabric daemon: its certificates (those of this user's nodes on this machine)"},
    Setting{"fabric_deadline", "MILLISECONDS", "how long other servers may take to answer (10000)"},
    Setting{"dir", "DIRECTORY",
            "where the machine's control and data files live (control files in /dev/shm, else /tmp)"},
    Setting{"host_access", "deny|allow", "whether the host may read and write device addresses (deny)"},
    Setting{"commit", "lazy|eager",
            "when memory is taken from the system: at the first write, or at allocation (lazy)"},
    Setting{"keep_back", "SIZE",
            "memory of the machine that is left to others; device memory never takes it (64MiB)"},
    Setting{"mapping_limit", "NUMBER", "how many mappings a process may have (16777216)"},
    Setting{"host_mapping_limit", "NUMBER",
            "how many pieces the host may have mapped (half of vm.max_map_count)"},
    Setting{"device_numbers", "ai_cpu|ai_core|cube_core|vector_core|l2=NUMBER,...",
            "what the cards have and no document says; not supported unless it is said here"},
    Setting{"snapshot_wait", "MILLISECONDS",
            "how long aclrtSnapShotProcessLock waits for threads and streams (10000)"},
    Setting{"rules", "ID=off|warning|error,...", "how strictly to take a rule, by its id"},
    Setting{"check", "secondary", "hold segments that are cut from a block against the rules for them"},
    Setting{"log", "off|error|warning|info", "what to say on stderr (warning)"},
    Setting{"log_format", "text|json", "messages for people, or one JSON object a line (text)"},
    Setting{"log_file", "FILE", "append messages to a file instead of stderr"},
    Setting{"quiet", "0|1", "leave out the line that says this is a software device (0)"},
    Setting{"fault", "CLAUSE;...|@FILE", "what shall go wrong, and when: 'malloc, nth=3, fail=207001'"},
    Setting{"seed", "NUMBER", "makes every random choice repeatable"},
    Setting{"streams", "pool|eager|seeded|seeded:NUMBER",
            "how work of streams is run: by threads, at once, or interleaved by chance that repeats (pool)"},
    Setting{"stacks", "0|1", "remember who allocated and freed a block, with stacks, for messages (0)"},
};

constexpr std::array kOtherVariables = {
    Variable{"PLAT_CONFIG", "FILE", "where the lines of settings are"},
    Variable{"PLAT_INSPECT_TRACE", "FILE", "what the recorder writes; plat record and plat check set it"},
    Variable{"PLAT_INSPECT_STACKS", "fp|unwind|none", "how it finds stacks (fp)"},
    Variable{"PLAT_INSPECT_DEPTH", "1 to 64", "how many frames of a stack it keeps (32)"},
    Variable{"PLAT_INSPECT_MAX_BYTES", "NUMBER", "where its file ends (4 GiB)"},
    Variable{"PLAT_MSTX_REMEMBER", "0|1", "remember heaps and regions for a tool that comes later (0)"},
    Variable{"PLAT_MSTX_INJECTION_PATH", "FILE:...",
             "tools besides the recorder; plat record and plat check set it"},
    Variable{"PLAT_POOL_TORCH", "OPTION=VALUE,...", "options of the pools that torch_npu takes memory from"},
    Variable{"PLAT_SHOW_AFTER_MS", "NUMBER",
             "after how many milliseconds long work shows on a terminal how far it is (300)"},
    Variable{"PLAT_PAGE_BYTES", "NUMBER", "for tests: a larger page than the system's"},
    Variable{"PLAT_LOCKED_ADDRESSES", "SIZE", "for emulators: addresses that page-locked memory may take"},
    Variable{"PLAT_CRASH", "PLACE", "for tests: where in the library a process dies"},
};

std::optional<uint64_t>* find_number(DeviceNumbers& numbers, std::string_view name) {
  if (name == "ai_cpu") return &numbers.ai_cpus;
  if (name == "ai_core") return &numbers.ai_cores;
  if (name == "cube_core") return &numbers.cube_cores;
  if (name == "vector_core") return &numbers.vector_cores;
  if (name == "l2") return &numbers.l2_bytes;
  return nullptr;
}

std::string variable_of(const char* key) {
  std::string name = "PLAT_";
  for (const char* c = key; *c != 0; ++c)
    name += static_cast<char>(std::toupper(static_cast<unsigned char>(*c)));
  return name;
}

class Reader {
 public:
  explicit Reader(const Environment& environment) : environment_(environment) {
    if (const auto path = environment_("PLAT_CONFIG")) read_file(*path);
  }

  Config read() {
    read_machine();
    read_behaviour();
    read_visible_devices();
    return std::move(config_);
  }

  // What the environment, else the file, says of a setting.
  std::optional<std::string> value(const char* key) {
    name_ = variable_of(key);
    if (auto found = environment_(name_); found && !found->empty()) return found;
    // "key =" in a file is as good as nothing, like a variable that is set to nothing.
    if (const auto found = file_.find(key); found != file_.end() && !found->second.empty())
      return found->second;
    return std::nullopt;
  }

 private:
  void complain(std::string text) { config_.complaints.push_back(std::move(text)); }

  void read_file(const std::string& path) {
    const auto text = os::read_small_file(path);
    if (!text) return complain(fmt::format("PLAT_CONFIG={}: the file cannot be read", path));
    parse_config_text(
        *text,
        [&](std::string_view key, std::string_view value) {
          if (std::none_of(kSettings.begin(), kSettings.end(),
                           [&](const Setting& s) { return key == s.key; }))
            complain(fmt::format("{}: there is no setting '{}'", path, key));
          std::string& kept = file_[std::string(key)];
          // Faults are many, one on a line; of anything else the last line counts.
          kept = key == "fault" && !kept.empty() ? fmt::format("{};{}", kept, value) : std::string(value);
        },
        [&](std::string problem) { complain(fmt::format("{}: {}", path, problem)); });
  }

  void wrong(std::string_view value, std::string_view wanted) {
    complain(fmt::format("{}={}: {}", name_, value, wanted));
  }

  // Reads one of a few words; leaves `target` alone when the setting is not there.
  template <class T>
  void choice(const char* key, T& target, const std::map<std::string, T>& words) {
    const auto text = value(key);
    if (!text) return;
    const auto found = words.find(*text);
    if (found != words.end()) {
      target = found->second;
      return;
    }
    std::string wanted;
    for (const auto& [word, meaning] : words) wanted += (wanted.empty() ? "" : ", ") + word;
    wrong(*text, "not one of " + wanted);
  }

  std::optional<uint64_t> whole_pages(const char* key) {
    const auto text = value(key);
    if (!text) return std::nullopt;
    const auto bytes = parse_bytes(*text);
    if (bytes && *bytes >= 2_MiB && *bytes <= kLargestCapacity && is_aligned(*bytes, 2_MiB)) return bytes;
    wrong(*text, "not a whole number of 2 MiB between 2 MiB and 1 TiB, such as 64GiB");
    return std::nullopt;
  }

  void number(const char* key, uint64_t& target) {
    const auto text = value(key);
    if (!text) return;
    if (const auto parsed = parse_number(*text))
      target = *parsed;
    else
      wrong(*text, "not a number");
  }

  void read_machine() {
    if (const auto text = value("product")) {
      if (const Product* product = find_product(*text)) {
        config_.product = product;
        config_.product_was_chosen = true;
      } else {
        std::string keys;
        for (const Product& known : products())
          keys += fmt::format("{}{}", keys.empty() ? "" : ", ", known.key);
        wrong(*text, "no such product; there are " + keys);
      }
    }
    if (const auto text = value("devices")) {
      const auto count = parse_number(*text);
      if (count && *count >= 1 && *count <= kMaxDevices) {
        config_.device_count = static_cast<uint32_t>(*count);
      } else {
        wrong(*text, fmt::format("not a number between 1 and {}", kMaxDevices));
      }
    }
    config_.capacity_bytes = config_.product->memory_bytes;
    if (const auto bytes = whole_pages("capacity")) {
      config_.capacity_bytes = *bytes;
      config_.capacity_was_chosen = true;
    }
    config_.host_capacity_bytes = host_capacity_of(os::machine_memory_bytes());
    if (const auto bytes = whole_pages("host_capacity")) config_.host_capacity_bytes = *bytes;
    if (const auto text = value("node")) {
      const bool plain = std::all_of(text->begin(), text->end(), [](unsigned char c) {
        return std::isalnum(c) || c == '-' || c == '_' || c == '.';
      });
      if (plain && text->size() <= 64 && text->front() != '.') {
        config_.node = *text;
      } else {
        wrong(*text, "a name has at most 64 letters, digits, '-', '_' and '.'");
      }
    }
    config_.server = config_.product->cross_server ? 0 : kNoServer;
    if (const auto text = value("server")) read_server(*text);
    if (const auto text = value("dir")) {
      config_.directory = *text;
      config_.directory_was_chosen = true;
    }
  }

  void read_server(const std::string& text) {
    const auto number = text == "none" ? std::optional<uint64_t>(kNoServer) : parse_number(text);
    if (!number || (*number > kLargestServer && text != "none"))
      return wrong(text, fmt::format("not a number between 0 and {}, nor 'none'", kLargestServer));
    config_.server = static_cast<uint32_t>(*number);
    config_.server_was_chosen = true;
  }

  void read_behaviour() {
    choice<bool>("host_access", config_.host_access, {{"deny", false}, {"allow", true}});
    choice<bool>("commit", config_.commit_eagerly, {{"lazy", false}, {"eager", true}});
    choice<bool>("quiet", config_.quiet, {{"0", false}, {"1", true}});
    choice<bool>("log_format", config_.log_json, {{"text", false}, {"json", true}});
    choice<LogLevel>("log", config_.log_level,
                     {{"off", LogLevel::Off},
                      {"error", LogLevel::Error},
                      {"warning", LogLevel::Warning},
                      {"info", LogLevel::Info}});
    if (const auto text = value("log_file")) config_.log_file = *text;
    if (const auto text = environment_("PLAT_CRASH")) config_.crash = *text;
    if (const auto text = value("fault")) read_faults(*text);
    if (const auto text = value("seed")) {
      config_.seed = parse_number(*text);
      if (!config_.seed) wrong(*text, "not a number");
    }
    if (const auto text = value("keep_back")) {
      const auto bytes = parse_bytes(*text);
      if (bytes) config_.keep_back_bytes = *bytes;
      if (!bytes) wrong(*text, "not a size");
    }
    uint64_t deadline_ms = config_.fabric_deadline_ms;
    number("fabric_deadline", deadline_ms);
    if (deadline_ms < 1 || deadline_ms > 3600000)
      wrong(std::to_string(deadline_ms), "not between 1 and 3600000 milliseconds");
    else
      config_.fabric_deadline_ms = static_cast<uint32_t>(deadline_ms);
    number("snapshot_wait", config_.snapshot_wait_ms);
    if (config_.snapshot_wait_ms > 3600000)
      wrong(std::to_string(config_.snapshot_wait_ms), "not between 0 and 3600000 milliseconds");
    number("mapping_limit", config_.mapping_limit);
    number("host_mapping_limit", config_.host_mapping_limit);
    // Before the choices for single rules, which come out on top.
    bool secondary = false;
    choice<bool>("check", secondary, {{"secondary", true}});
    if (secondary)
      for (const RuleId rule : {RuleId::SegmentStart, RuleId::SegmentRoom})
        config_.rule_choices.push_back({rule, rules::Severity::Error});
    if (const auto text = value("rules")) read_rules(*text);
    if (const auto text = value("device_numbers")) read_numbers(*text);
  }

  void read_rules(std::string_view list) {
    while (!list.empty()) {
      const size_t comma = std::min(list.find(','), list.size());
      const std::string_view item = trim(list.substr(0, comma));
      list.remove_prefix(std::min(comma + 1, list.size()));
      if (item.empty()) continue;
      const size_t equals = item.find('=');
      const rules::Rule* rule = rules::find(trim(item.substr(0, equals)));
      if (rule == nullptr || equals == std::string_view::npos) {
        wrong(item, "want ID=off|warning|error; 'plat rules' lists the ids");
        continue;
      }
      const std::string_view word = trim(item.substr(equals + 1));
      using rules::Severity;
      const auto severity = word == "off"       ? std::optional(Severity::Off)
                            : word == "warning" ? std::optional(Severity::Warning)
                            : word == "error"   ? std::optional(Severity::Error)
                                                : std::nullopt;
      if (!severity) {
        wrong(item, "want off, warning or error");
      } else if (rule->is_finding()) {
        wrong(item, "plat check finds this, no call does; its option --suppressions leaves it out");
      } else if (rule->kind == rules::Kind::Firm && *severity != Severity::Error) {
        wrong(item, "this rule cannot be relaxed: the call could not do what it says");
      } else {
        config_.rule_choices.push_back({rule->id, *severity});
      }
    }
  }

  // Clauses, and names of files that hold clauses.
  void read_faults(std::string_view plan) {
    while (!plan.empty()) {
      const size_t end = std::min(plan.find(';'), plan.size());
      const std::string_view piece = trim(plan.substr(0, end));
      plan.remove_prefix(std::min(end + 1, plan.size()));
      std::string text(piece);
      if (piece.starts_with('@')) {
        const auto file = os::read_small_file(text.substr(1));
        if (!file) wrong(piece, "the file cannot be read");
        text = file.value_or("");
      }
      for (fault::Clause& clause : fault::parse_plan(
               text, [&](const std::string& problem) { complain(fmt::format("{}={}", name_, problem)); }))
        config_.faults.push_back(std::move(clause));
    }
  }

  void read_visible_devices() {
    if (const auto text = environment_("ASCEND_RT_VISIBLE_DEVICES")) {
      Visible visible = parse_visible(*text, config_.device_count);
      config_.visible = std::move(visible.devices);
      config_.visible_problem = std::move(visible.problem);
      return;
    }
    for (uint32_t device = 0; device < config_.device_count; ++device) config_.visible.push_back(device);
  }

  // "ai_core=24,vector_core=48": what the user says of the cards.
  void read_numbers(std::string_view list) {
    while (!list.empty()) {
      const size_t comma = std::min(list.find(','), list.size());
      const std::string_view item = trim(list.substr(0, comma));
      list.remove_prefix(std::min(comma + 1, list.size()));
      if (item.empty()) continue;
      const size_t equals = std::min(item.find('='), item.size());
      const auto bytes = parse_bytes(trim(item.substr(std::min(equals + 1, item.size()))));
      std::optional<uint64_t>* number = find_number(config_.numbers, trim(item.substr(0, equals)));
      if (number == nullptr || !bytes || *bytes > INT64_MAX) {
        wrong(item, "want ai_cpu, ai_core, cube_core, vector_core or l2, and =NUMBER");
      } else {
        *number = *bytes;
      }
    }
  }

  const Environment& environment_;
  std::map<std::string, std::string> file_;
  std::string name_;  // of the setting that is being read, for complaints
  Config config_;
};

}  // namespace

std::span<const Setting> settings() { return kSettings; }
std::span<const Variable> other_variables() { return kOtherVariables; }

uint64_t host_capacity_of(uint64_t machine_bytes) {
  return std::clamp<uint64_t>(align_down(machine_bytes, 2_MiB), 2_MiB, kLargestCapacity);
}

void parse_config_text(std::string_view text,
                       const std::function<void(std::string_view, std::string_view)>& each,
                       const std::function<void(std::string)>& complain) {
  for (unsigned number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    line = trim(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    const size_t equals = line.find('=');
    if (equals == std::string_view::npos) {
      complain(fmt::format("line {}: want 'key = value'", number));
      continue;
    }
    each(trim(line.substr(0, equals)), trim(line.substr(equals + 1)));
  }
}

Config read_config(const Environment& environment) { return Reader(environment).read(); }

std::string nearest_variable(std::string_view name) {
  std::string nearest;
  size_t least = SIZE_MAX;
  const auto try_one = [&](const std::string& known) {
    const size_t steps = edit_distance(name, known);
    if (steps < least) {
      least = steps;
      nearest = known;
    }
  };
  for (const Setting& setting : kSettings) try_one(variable_of(setting.key));
  for (const Variable& known : kOtherVariables) try_one(known.name);
  // Other programs may have variables that begin like ours; only what looks like one of ours is meant for us.
  constexpr size_t kPrefix = 5;  // PLAT_
  constexpr size_t kBeginning = kPrefix + 5;
  const bool begins_alike =
      name.size() > kBeginning && name.substr(0, kBeginning) == nearest.substr(0, kBeginning);
  return least <= 2 || begins_alike ? nearest : "";
}

std::optional<std::string> setting(const char* key) {
  const Environment environment = os::variable;
  return Reader(environment).value(key);
}

Config read_config() {
  Config config = read_config(os::variable);
  for (const std::string& name : os::variables_with("PLAT_"))
    if (const std::string nearest = nearest_variable(name); !nearest.empty() && nearest != name)
      config.remarks.push_back(fmt::format("there is no setting {}; is {} meant?", name, nearest));
  return config;
}

}  // namespace plat::device
