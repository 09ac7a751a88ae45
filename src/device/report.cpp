// SPDX-License-Identifier: Apache-2.0
#include "device/report.h"

#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "base/breach.h"
#include "base/text.h"
#include "os/file.h"
#include "os/process.h"
#include "os/uncancelled.h"
#include "rules/probes.h"

// Of a recorder, if there is one.
#pragma weak plat_inspect_hear

namespace plat::device::report {

namespace {

struct State {
  std::vector<std::atomic<rules::Severity>> severities =
      std::vector<std::atomic<rules::Severity>>(rules::all().size());
  std::vector<std::atomic<uint64_t>> said = std::vector<std::atomic<uint64_t>>(rules::all().size());
  // Of rules that the user has set to "error", although programs are known to break them.
  std::vector<std::atomic<bool>> is_loud = std::vector<std::atomic<bool>>(rules::all().size());
  std::atomic<rules::Generation> generation{rules::Generation::V2};
  std::atomic<device::LogLevel> level{device::LogLevel::Warning};
  std::atomic<bool> json{false};
  std::mutex file_mutex;  // guards file_name
  std::string file_name;

  State() {
    for (const rules::Rule& rule : rules::all()) severities[static_cast<size_t>(rule.id)] = rule.severity;
  }
};

// Never destroyed: programs call in from destructors that run after main.
State& state() {
  static State* const instance = new State;
  return *instance;
}

// Programs keep the address of a message while they go on and fail again, so the last few stay where they
// are.
constexpr size_t kMessagesKept = 16;

struct Recent {
  std::array<std::string, kMessagesKept> messages;
  size_t newest = 0;
  const rules::Rule* rule = nullptr;
};

thread_local Recent* t_recent = nullptr;
// In place of a text for which there was no memory.
thread_local const char* t_without_memory = nullptr;
constexpr const char* kWithoutMemory =
    "MEM-Machine-memory: the process has no memory left for the library's own records, not even for the "
    "whole message. Free memory, or raise the limit of this process (ulimit -v, control groups).";

// Ends the text of a thread that ends. That of the main thread stays: its thread_local objects go before the
// destructors of static ones, and programs call in from those.
struct RecentEnd {
  ~RecentEnd() {
    if (os::thread_id() == os::process_id()) return;
    delete t_recent;
    t_recent = nullptr;
  }
};

Recent& recent_failure() {
  if (t_recent == nullptr) {
    t_recent = new Recent;
    thread_local RecentEnd end;
    (void)end;
  }
  return *t_recent;
}

void write_line(std::string line) {
  const os::Uncancelled whole;
  line += '\n';
  std::string file;
  {
    const std::lock_guard lock(state().file_mutex);
    file = state().file_name;
  }
  os::append(file, line);
}

const char* name_of(device::LogLevel level) {
  return level == device::LogLevel::Error ? "error" : level == device::LogLevel::Warning ? "warning" : "info";
}

std::string to_json(const char* severity, const char* function, const Error& error, int code) {
  const rules::Rule& rule = rules::get(error.rule);
  return fmt::format(
      R"({{"severity":{},"rule":{},"code":{},"function":{},"parameter":{},"detail":{},"rule_text":{},"fix":{},"pid":{}}})",
      json_string(severity), json_string(rule.name), code, json_string(function),
      json_string(error.parameter), json_string(error.detail), json_string(rule.sentence),
      json_string(rule.fix), os::process_id());
}

// Failures that programs provoke and handle: probes, and memory that is out, after which they free something.
// The call returns its code; whoever wants to see it sets PLAT_LOG=info, or the rule to "error".
bool is_expected(RuleId rule, const char* function) {
  if (state().is_loud[static_cast<size_t>(rule)].load(std::memory_order_relaxed)) return false;
  return rule == RuleId::OutOfMemory || rules::is_known_probe(rule, function);
}

void log_breach(device::LogLevel level, const char* function, const Error& error, const std::string& message,
                int code) {
  if (state().level.load(std::memory_order_relaxed) < level) return;
  const char* severity = name_of(level);
  if (state().json.load(std::memory_order_relaxed))
    return write_line(to_json(severity, function, error, code));
  const uint64_t times =
      state().said[static_cast<size_t>(error.rule)].fetch_add(1, std::memory_order_relaxed);
  if (times == 0) write_line(fmt::format("plat {}: {}", severity, message));
  // Said again at every power of ten, so that a storm is seen and yet stays readable.
  for (uint64_t mark = 10; mark <= times + 1; mark *= 10)
    if (mark == times + 1) write_line(fmt::format("plat {}: {} times by now: {}", severity, mark, message));
}

void tell_recorder(const char* function, const Error& error, int code) {
  if (plat_inspect_hear == nullptr) [[likely]]
    return;
  const std::string text = fmt::format("{}({}): {}", function, error.parameter, error.detail);
  plat_inspect_hear(rules::get(error.rule).name, code, text.c_str());
}

}  // namespace

void configure(const device::Config& config) {
  State& s = state();
  for (const rules::Rule& rule : rules::all()) s.severities[static_cast<size_t>(rule.id)] = rule.severity;
  for (auto& is_loud : s.is_loud) is_loud = false;
  for (const auto& choice : config.rule_choices) {
    s.severities[static_cast<size_t>(choice.rule)] = choice.severity;
    s.is_loud[static_cast<size_t>(choice.rule)] = choice.severity == rules::Severity::Error;
  }
  s.generation = config.product->generation;
  s.level = config.log_level;
  s.json = config.log_json;
  const std::lock_guard lock(s.file_mutex);
  s.file_name = config.log_file;
}

rules::Generation generation() { return state().generation.load(std::memory_order_relaxed); }

rules::Severity severity(RuleId rule) {
  return state().severities[static_cast<size_t>(rule)].load(std::memory_order_relaxed);
}

std::string compose(const char* function, const Error& error) {
  const rules::Rule& rule = rules::get(error.rule);
  return fmt::format("{} {}({}): {}. {} {} See plat rules {}", rule.name, function, error.parameter,
                     error.detail, rule.sentence, rule.fix, rule.name);
}

namespace {

constinit thread_local int t_last_code = 0;

// Codes of the runtime begin with 107, 207 and 507; the others are of the layer above it. A program that asks
// whether there is a device, or for a feature, has not failed.
bool is_remembered(const char* function, RuleId rule, int code) {
  constexpr int kNotSupported = 207000;
  if (rule == RuleId::NoContext && std::strcmp(function, "aclrtGetDevice") == 0) return false;
  const int family = code / 1000;
  return (family == 107 || family == 207 || family == 507) && code != kNotSupported;
}

int raise(const char* function, const Error& error, int code) {
  if (is_remembered(function, error.rule, code)) t_last_code = code;
  try {
    Recent& recent = recent_failure();
    std::string message = compose(function, error);
    recent.newest = (recent.newest + 1) % kMessagesKept;
    recent.messages[recent.newest] = std::move(message);
    recent.rule = &rules::get(error.rule);
    t_without_memory = nullptr;
    tell_recorder(function, error, code);
    log_breach(is_expected(error.rule, function) ? device::LogLevel::Info : device::LogLevel::Error, function,
               error, recent.messages[recent.newest], code);
  } catch (const std::bad_alloc&) {
    t_without_memory = kWithoutMemory;
  }
  return code;
}

}  // namespace

int raise_for(const char* function, const Error& error) {
  return raise(function, error, rules::get(error.rule).code(generation()));
}

int raise(const Error& error) { return raise_for(CallScope::current(), error); }

int raise_with(const Error& error, int code) { return raise(CallScope::current(), error, code); }

int last_code() { return t_last_code; }
int take_last_code() { return std::exchange(t_last_code, 0); }

int raise_without_memory() {
  t_without_memory = kWithoutMemory;
  const rules::Rule& rule = rules::get(RuleId::OutOfHostMemory);
  const int code = rule.code(generation());
  if (plat_inspect_hear != nullptr) plat_inspect_hear(rule.name, code, CallScope::current());
  return code;
}

const char* recent() {
  if (t_without_memory != nullptr) return t_without_memory;
  return t_recent == nullptr ? "" : t_recent->messages[t_recent->newest].c_str();
}
const rules::Rule* recent_rule() {
  if (t_without_memory != nullptr) return &rules::get(RuleId::OutOfHostMemory);
  return t_recent == nullptr ? nullptr : t_recent->rule;
}

Result<> soft(const Error& error) {
  const rules::Severity chosen = severity(error.rule);
  if (chosen == rules::Severity::Error) return forward(error);
  if (chosen == rules::Severity::Warning) {
    const char* function = CallScope::current();
    tell_recorder(function, error, 0);
    log_breach(device::LogLevel::Warning, function, error, compose(function, error), 0);
  }
  return {};
}

void info(std::string_view text) {
  if (state().level.load(std::memory_order_relaxed) >= device::LogLevel::Info) notice(text);
}

namespace {

void write_text(const char* severity, const char* prefix, std::string_view text) {
  if (state().json.load(std::memory_order_relaxed))
    write_line(fmt::format(R"({{"severity":{},"text":{},"pid":{}}})", json_string(severity),
                           json_string(text), os::process_id()));
  else
    write_line(fmt::format("{}: {}", prefix, text));
}

}  // namespace

void warning(std::string_view text) {
  if (state().level.load(std::memory_order_relaxed) >= device::LogLevel::Warning)
    write_text("warning", "plat warning", text);
}

void notice(std::string_view text) {
  if (state().level.load(std::memory_order_relaxed) != device::LogLevel::Off)
    write_text("info", "plat", text);
}

void application(device::LogLevel level, const SourceLine& at, std::string_view text) {
  if (state().level.load(std::memory_order_relaxed) < level) return;
  const char* severity = name_of(level);
  if (state().json.load(std::memory_order_relaxed))
    write_line(fmt::format(
        R"({{"severity":{},"source":"application","function":{},"file":{},"line":{},"text":{},"pid":{}}})",
        json_string(severity), json_string(at.function), json_string(at.file), at.line, json_string(text),
        os::process_id()));
  else
    write_line(fmt::format("app {}: {}:{} {}: {}", severity, at.file, at.line, at.function, text));
}

}  // namespace plat::device::report
