// SPDX-License-Identifier: Apache-2.0
#include "device/fault_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>

#include "base/text.h"

namespace plat::device::fault {

namespace {

using std::chrono::microseconds;
constexpr microseconds kLongestDelay = std::chrono::hours(1);
constexpr uint64_t kMaxServer = 1022;

std::optional<double> parse_chance(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value > 0 && value <= 1 ? std::optional(value) : std::nullopt;
}

// "50ms", "2s", "100us".
std::optional<microseconds> parse_time(std::string_view text) {
  const size_t unit = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto number = parse_number(text.substr(0, unit));
  const std::string_view word = text.substr(unit);
  const uint64_t scale = word == "us" ? 1 : word == "ms" ? 1'000 : word == "s" ? 1'000'000 : 0;
  if (!number || scale == 0) return std::nullopt;
  const auto longest = static_cast<uint64_t>(kLongestDelay.count());
  if (*number > longest / scale) return std::nullopt;
  return microseconds(*number * scale);
}

std::optional<int> parse_code(std::string_view text) {
  const auto code = parse_number(text);
  return code && *code >= 1 && *code <= 999'999 ? std::optional(static_cast<int>(*code)) : std::nullopt;
}

// The next piece up to one of the separators, trimmed, taken off the front.
std::string_view next_piece(std::string_view& text, std::string_view separators) {
  const size_t end = std::min(text.find_first_of(separators), text.size());
  const std::string_view piece = trim(text.substr(0, end));
  text.remove_prefix(std::min(end + 1, text.size()));
  return piece;
}

// Reads one clause; the first thing that makes no sense is the problem.
class ClauseReader {
 public:
  explicit ClauseReader(std::string_view text) : rest_(text) { clause_.text = text; }

  std::optional<Clause> read() {
    read_target(next_piece(rest_, ","));
    while (!rest_.empty() && problem_.empty()) read_part(next_piece(rest_, ","));
    if (problem_.empty()) check_whole();
    return problem_.empty() ? std::optional(std::move(clause_)) : std::nullopt;
  }
  const std::string& problem() const { return problem_; }

 private:
  void wrong(std::string problem) {
    if (problem_.empty()) problem_ = std::move(problem);
  }

  void read_target(std::string_view word) {
    if (word == "capacity") {
      clause_.effect = Effect::Shrink;
      has_effect_ = true;
      return;
    }
    if (word == "server" || word.starts_with("server ")) return read_server(trim(word.substr(6)));
    for (const Group& group : groups())
      if (word == group.word) clause_.calls = group.calls;
    if (!clause_.calls.empty()) return;
    const bool plain = std::all_of(word.begin(), word.end(), [&](const char& c) {
      return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || (c == '*' && &c == &word.back());
    });
    if (!plain || !(word.starts_with("acl") || word.starts_with("hi_mpi_")))
      return wrong(fmt::format("'{}' is no call and no group of calls", word));
    clause_.calls.emplace_back(word);
  }

  // "server" is all of them.
  void read_server(std::string_view number) {
    clause_.of_servers = true;
    if (number.empty()) return;
    const auto server = parse_number(number);
    if (!server || *server > kMaxServer)
      return wrong(fmt::format("'{}' is no server: want 0 to {}", number, kMaxServer));
    clause_.server = static_cast<uint32_t>(*server);
  }

  void read_part(std::string_view part) {
    const size_t equals = std::min(part.find('='), part.size());
    const std::string_view key = trim(part.substr(0, equals));
    const std::string_view value = equals < part.size() ? trim(part.substr(equals + 1)) : "";
    const bool shrinks = clause_.effect == Effect::Shrink && has_effect_;
    if (shrinks ? !read_shrink(key, value) : !read_when(key, value) && !read_effect(key, value))
      wrong(fmt::format("'{}' is not understood", part));
  }

  template <class T>
  bool take(std::optional<T> parsed, T& target) {
    if (parsed) target = *parsed;
    return parsed.has_value();
  }

  bool read_shrink(std::string_view key, std::string_view value) {
    if (key == "after") {
      has_when_ = take(parse_bytes(value), clause_.after_bytes);
      if (!has_to_) clause_.to_bytes = clause_.after_bytes;
      return has_when_;
    }
    if (key != "to") return false;
    has_to_ = true;
    return take(parse_bytes(value), clause_.to_bytes);
  }

  bool read_when(std::string_view key, std::string_view value) {
    if (value.empty() && (key == "once" || key == "sticky")) {
      clause_.lasts = key == "once" ? Lasts::Once : Lasts::Sticky;
      return true;
    }
    if (key != "nth" && key != "every" && key != "chance") return false;
    if (has_when_) wrong("a clause has one of nth, every and chance");
    has_when_ = true;
    if (key == "chance") {
      clause_.when = When::Chance;
      return take(parse_chance(value), clause_.chance);
    }
    clause_.when = key == "nth" ? When::Nth : When::Every;
    return take(parse_number(value), clause_.count) && clause_.count > 0;
  }

  bool read_effect(std::string_view key, std::string_view value) {
    if (clause_.of_servers) return read_effect_of_servers(key, value);
    if (key != "fail" && key != "kill" && key != "delay" && key != "uce") return false;
    if (has_effect_) wrong("a clause has one of fail, kill, delay and uce");
    has_effect_ = true;
    if (key == "kill" || key == "uce") {
      clause_.effect = key == "kill" ? Effect::Kill : Effect::Break;
      return value.empty();
    }
    clause_.effect = key == "fail" ? Effect::Fail : Effect::Delay;
    return key == "fail" ? take(parse_code(value), clause_.code) : take(parse_time(value), clause_.delay);
  }

  bool read_effect_of_servers(std::string_view key, std::string_view value) {
    const bool stops = key == "stop";  // from then on nothing is answered
    if (key != "delay" && key != "drop" && key != "cut" && key != "corrupt" && !stops) return false;
    if (has_effect_) wrong("a clause has one of delay, drop, cut, stop and corrupt");
    has_effect_ = true;
    stops_ = stops;
    clause_.effect = key == "delay"     ? Effect::Delay
                     : key == "cut"     ? Effect::Cut
                     : key == "corrupt" ? Effect::Corrupt
                                        : Effect::Drop;
    return key == "delay" ? take(parse_time(value), clause_.delay) : value.empty();
  }

  void check_whole() {
    if (clause_.effect == Effect::Shrink) {
      if (!has_when_) wrong("'capacity' wants after=SIZE");
      return;
    }
    if (!has_when_) wrong("when? Say nth=N, every=N or chance=P");
    if (stops_ && clause_.lasts == Lasts::Once) wrong("a server that has stopped stays so: not once");
    if (stops_) clause_.lasts = Lasts::Sticky;
    if (!has_effect_)
      wrong(clause_.of_servers ? "what? Say delay=TIME, drop, cut, stop or corrupt"
                               : "what? Say fail=CODE, delay=TIME, uce or kill");
  }

  std::string_view rest_;
  Clause clause_;
  std::string problem_;
  bool has_when_ = false;
  bool has_effect_ = false;
  bool has_to_ = false;
  bool stops_ = false;
};

}  // namespace

bool Clause::applies_to(std::string_view call) const {
  return std::any_of(calls.begin(), calls.end(), [&](std::string_view pattern) {
    if (!pattern.ends_with('*')) return call == pattern;
    return call.starts_with(pattern.substr(0, pattern.size() - 1));
  });
}

const std::vector<Group>& groups() {
  static const auto* const table = new std::vector<Group>{
      {"any", {"*"}},
      {"malloc", {"aclrtMalloc*", "acldvppMalloc*", "hi_mpi_dvpp_malloc", "aclrtMemPoolMallocAsync"}},
      {"free", {"aclrtFree*", "acldvppFree", "hi_mpi_dvpp_free", "aclrtMemPoolFreeAsync"}},
      {"reserve", {"aclrtReserveMemAddress*"}},
      {"release", {"aclrtReleaseMemAddress"}},
      {"map", {"aclrtMapMem", "aclrtMemMap*"}},
      {"unmap", {"aclrtUnmapMem"}},
      {"export", {"aclrtMemExportToShareableHandle*", "aclrtIpcMemGetExportKey"}},
      {"import", {"aclrtMemImportFromShareableHandle*", "aclrtIpcMemImportByKey"}},
      {"memcpy", {"aclrtMemcpy*"}},
      {"memset", {"aclrtMemset*"}},
      {"stream", {"aclrtCreateStream*"}},
      {"event", {"aclrtCreateEvent*"}},
      {"sync", {"aclrtSynchronize*"}},
  };
  return *table;
}

std::vector<Clause> parse_plan(std::string_view text, const Complain& complain) {
  std::vector<Clause> clauses;
  while (!text.empty()) {
    std::string_view line = next_piece(text, "\n");
    line = line.substr(0, line.find('#'));
    while (!line.empty()) {
      const std::string_view piece = next_piece(line, ";");
      if (piece.empty()) continue;
      ClauseReader reader(piece);
      if (auto clause = reader.read())
        clauses.push_back(std::move(*clause));
      else
        complain(fmt::format("{}: {}", piece, reader.problem()));
    }
  }
  return clauses;
}

}  // namespace plat::device::fault
